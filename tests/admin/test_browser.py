"""The cockpit in a real browser, against a real server and a real worker."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from knowledge.models import Document, IngestJob

pytestmark = pytest.mark.browser
ADD = "/admin/knowledge/document/add/"


@pytest.fixture
def editor_user(tenant, make_user):
    """An editor who reads English."""
    user = make_user("edith", tenant, "editor")
    user.memberships.update(language="en")
    return user


def troubles(page: Page) -> list[str]:
    """What goes wrong in the page's scripts from now on."""
    found: list[str] = []
    page.on("pageerror", lambda error: found.append(str(error)))
    return found


def test_upload_and_watch_it_become_live(site, worker, new_browser, editor_user, tmp_path):
    guide = tmp_path / "tomaten.md"
    guide.write_text("# Tomaten\n\n" + "Tomaten brauchen Sonne, Wasser und Geduld.\n\n" * 200)
    page = new_browser(site, editor_user)
    errors = troubles(page)
    page.goto(site + ADD)
    page.set_input_files("input[type=file]", guide)
    expect(page.locator("[data-files] li")).to_contain_text("tomaten.md")
    page.click("button[data-send]")
    page.wait_for_url(re.compile(r"/admin/knowledge/ingestjob/\d+/change/"))
    # Nobody reloads: the page follows the job, and at the end offers what can be done now.
    expect(page.locator("[data-field=state_label]")).to_have_text("completed", timeout=60_000)
    expect(page.locator("[role=progressbar]")).to_have_attribute("aria-valuenow", "100")
    expect(page.locator("[data-log] li")).not_to_have_count(0)
    expect(page.get_by_role("link", name="1", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Cancel the job")).to_have_count(0)
    page.get_by_role("link", name="To the document").click()
    expect(page.locator(".k-timeline li")).to_have_count(1)
    expect(page.locator(".k-timeline")).to_contain_text("live")
    assert errors == []


def test_ten_files_dropped_the_second_corrupt(site, worker, new_browser, editor_user):
    page = new_browser(site, editor_user)
    errors = troubles(page)
    page.goto(site + ADD)
    page.evaluate(
        """() => {
            const dropped = new DataTransfer();
            for (let number = 1; number <= 10; number += 1) {
                const broken = number === 2;
                const text = broken ? "%PDF-1.7 cut off" : `# Pflanze ${number}\\n\\nLicht: ${number}.\\n`;
                dropped.items.add(new File([text], broken ? "kaputt.pdf" : `pflanze-${number}.md`));
            }
            const drop = new DragEvent("drop", { dataTransfer: dropped, bubbles: true, cancelable: true });
            document.querySelector("[data-drop]").dispatchEvent(drop);
        }"""
    )
    expect(page.locator("[data-files] li")).to_have_count(10)
    page.click("button[data-send]")
    page.wait_for_url(re.compile(r"/add/results/[0-9a-f]{32}/"))
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(10)
    expect(page.locator("tbody .k-chip[data-state=COMPLETED]")).to_have_count(9, timeout=60_000)
    broken = rows.filter(has_text="kaputt.pdf")
    expect(broken.locator(".k-chip")).to_have_attribute("data-state", "FAILED")
    expect(broken.locator("[data-field=error_text]")).to_contain_text("damaged")
    page.reload()
    expect(rows).to_have_count(10)
    assert Document.objects.filter(versions__active=True).count() == 9
    assert errors == []


def test_a_file_too_large_is_named_before_it_is_sent(site, new_browser, editor_user, tmp_path):
    page = new_browser(site, editor_user)
    page.goto(site + ADD)
    page.locator("form[data-upload]").evaluate("(form) => { form.dataset.maxBytes = '10'; }")
    large = tmp_path / "gross.md"
    large.write_text("# Viel zu groß\n")
    page.set_input_files("input[type=file]", large)
    expect(page.locator("[data-files] li")).to_contain_text("too large")
    expect(page.locator("button[data-send]")).to_be_disabled()
    page.get_by_role("button", name="Remove: gross.md").click()
    expect(page.locator("[data-files] li")).to_have_count(0)
    expect(page.locator("button[data-send]")).to_be_enabled()
    assert not IngestJob.objects.exists()


def test_two_files_of_one_name_are_both_shown_and_not_sent_together(site, new_browser, editor_user, tmp_path):
    files = [tmp_path / folder / "README.md" for folder in ("eins", "zwei")]
    for number, file in enumerate(files):
        file.parent.mkdir()
        file.write_text(f"# Nummer {number}\n\nText {'x' * number}.\n")
    page = new_browser(site, editor_user)
    page.goto(site + ADD)
    for file in files:
        page.set_input_files("input[type=file]", file)
    expect(page.locator("[data-files] li")).to_have_count(2)
    expect(page.locator("[data-files] li").nth(1)).to_contain_text("has this name")
    expect(page.locator("button[data-send]")).to_be_disabled()
    page.get_by_role("button", name="Remove: README.md").nth(1).click()
    expect(page.locator("button[data-send]")).to_be_enabled()


def test_it_works_without_scripts(site, new_browser, editor_user, tmp_path, run_jobs):
    files = [tmp_path / "eins.md", tmp_path / "zwei.md"]
    for number, file in enumerate(files):
        file.write_text(f"# Nummer {number}\n\nText {number}.\n")
    page = new_browser(site, editor_user, java_script_enabled=False)
    page.goto(site + ADD)
    page.set_input_files("input[type=file]", files)
    page.click("button[data-send]")
    page.wait_for_url(re.compile(r"/add/results/"))
    run_jobs()
    page.get_by_role("link", name="Show how it stands now").click()
    assert page.locator("tbody .k-chip[data-state=COMPLETED]").count() == 2


def test_a_waiting_job_says_that_no_worker_is_there_until_one_is(
    site, new_browser, editor_user, tenant, upload
):
    from knowledge.liveness import note_alive
    from knowledge.models import Heartbeat
    from knowledge.scopes import scope_of

    job = upload("a.md", "# A\n\nText.\n", scope=scope_of(tenant)).job
    page = new_browser(site, editor_user)
    page.goto(f"{site}/admin/knowledge/ingestjob/{job.pk}/change/")
    warning = page.locator("[data-show=waiting_for_worker]")
    expect(warning).to_be_visible()
    note_alive(Heartbeat.Kind.WORKER)
    expect(warning).to_be_hidden()
    page.get_by_role("button", name="Cancel the job").click()
    expect(page.locator("[data-field=state_label]")).to_have_text("cancelled")


@pytest.mark.parametrize("width", [390, 1280])
def test_no_page_is_wider_than_the_screen(
    site, new_browser, editor_user, tenant, upload, run_jobs, width: int, tmp_path: Path
):
    from knowledge.scopes import scope_of

    long = "Donaudampfschifffahrtsgesellschaftskapitänspatent" * 3
    document = upload(f"{long}.md", f"# {long}\n\n{long}\n", scope=scope_of(tenant), note=long).document
    upload("leer.txt", "", scope=scope_of(tenant))
    run_jobs()
    upload(f"{long}.md", f"# {long}\n\n{long} {long[::-1]}\n", scope=scope_of(tenant))
    run_jobs()
    page = new_browser(site, editor_user, viewport={"width": width, "height": 800})
    scope = document.scope_id
    for address in (
        "/admin/",
        ADD,
        "/admin/knowledge/document/",
        f"/admin/knowledge/document/{document.pk}/change/",
        f"/admin/knowledge/document/{document.pk}/erase/",
        f"/admin/knowledge/document/{document.pk}/differences/",
        f"/admin/knowledge/document/{document.pk}/differences/?view=unified",
        f"/admin/knowledge/document/{document.pk}/versions/1/text/",
        f"/admin/knowledge/document/{document.pk}/versions/1/chunks/",
        "/admin/knowledge/ingestjob/",
        f"/admin/knowledge/ingestjob/{document.jobs.first().pk}/change/",
        "/admin/knowledge/indexversion/",
        f"/admin/knowledge/indexversion/{document.scope.__class__.objects.get(pk=scope).live_id}/change/",
    ):
        page.goto(site + address)
        overhang = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert overhang <= 0, address
    page.goto(f"{site}/admin/knowledge/chunk/")
    page.fill("input[name=query]", long)
    page.press("input[name=query]", "Enter")
    expect(page.locator(".k-ranked a").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
