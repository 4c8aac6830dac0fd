"""The chat as a person sees it."""

import re

import pytest
from playwright.sync_api import Page, expect

from assistant.models import Conversation, Turn
from tests.assistant.conftest import slow_server
from tests.browser.conftest import log_in
from tests.conftest import wait_until

QUESTION = "Woran erkenne ich Spinnmilben?"
pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("base")]


def ask(page: Page, question: str) -> None:
    page.fill("#question", question)
    page.press("#question", "Enter")


def test_a_cited_answer_arrives_and_a_citation_opens_the_passage(slow_site, make_user, open_page):
    make_user("anna")
    page = open_page()
    log_in(page, slow_site, "anna")
    ask(page, QUESTION)
    page.wait_for_url(re.compile(r"/conversations/\d+/"))
    turn = page.locator(".turn").last
    expect(turn).to_have_attribute("data-state", "STREAMING")
    # While it is being written, the citation is a link already, and the text grows.
    expect(turn.locator(".answer .cite").first).to_be_visible()
    expect(turn.locator(".answer blockquote").first).to_be_visible()
    early = turn.locator(".answer").inner_text()
    expect(turn).to_have_attribute("data-state", "DONE")
    whole = turn.locator(".answer").inner_text()
    assert whole.startswith(early.strip()[:80])
    assert len(whole) > len(early)

    # A second question, in the same conversation, without a new page.
    ask(page, "Wann werden die unteren Blätter gelb?")
    expect(page.locator(".turn")).to_have_count(2)
    expect(page.locator(".turn").last).to_have_attribute("data-state", "DONE")
    assert page.input_value("#question") == ""

    first = page.locator(".turn").first
    number = first.locator(".answer .cite").first.inner_text()
    title = first.locator(f'.source[data-number="{number}"] .source-title').inner_text()
    first.locator(".answer .cite").first.click()
    page.wait_for_url(re.compile(r"/sources/\d+/"))
    assert page.locator("h1").first.inner_text() == title
    mark = page.locator("#passage")
    expect(mark).to_be_in_viewport()
    assert (
        "Spinnmilben erkennt man"
        in page.locator("mark").all_inner_texts()[0] + page.locator(".document").inner_text()
    )
    page.locator(".back a").click()
    expect(page.locator(".turn")).to_have_count(2)


def test_a_reload_in_mid_answer_loses_nothing_and_a_second_tab_sees_the_same(slow_site, make_user, open_page):
    make_user("anna")
    page = open_page()
    log_in(page, slow_site, "anna")
    ask(page, QUESTION)
    page.locator('.turn[data-state="STREAMING"] .answer blockquote').first.wait_for()
    second = page.context.new_page()
    second.goto(page.url)
    page.reload()
    for tab in (page, second):
        expect(tab.locator(".turn")).to_have_attribute("data-state", "DONE")
    written = [tab.locator(".answer").inner_html() for tab in (page, second)]
    assert written[0] == written[1]
    page.reload()
    assert page.locator(".answer").inner_html() == written[0]
    assert page.locator(".source").count() == second.locator(".source").count()


def test_stop(tmp_path, slow_log, make_user, open_page, files_folder):
    make_user("anna")
    with slow_server(tmp_path, piece_s=1) as site:
        page = open_page()
        log_in(page, site, "anna")
        ask(page, QUESTION)
        page.locator('.turn[data-state="STREAMING"] .answer p').first.wait_for()
        page.locator(".stop button").click()
        expect(page.locator(".turn")).to_have_attribute("data-state", "STOPPED")
        expect(page.locator(".stopped")).to_be_visible()
    assert slow_log.read_text().split()[-1] == "closed"
    assert Turn.objects.get().state == Turn.State.STOPPED


def test_what_cannot_be_asked_stays_in_the_field(site, make_user, open_page):
    make_user("anna")
    page = open_page(locale="en")
    log_in(page, site, "anna")
    ask(page, "Watering cacti?")
    expect(page.locator(".turn")).to_have_attribute("data-state", "DONE")
    page.fill("#question", "long " * 900)
    page.press("#question", "Enter")
    expect(page.locator("#composer-error")).to_contain_text("4000 is the most")
    assert page.input_value("#question") == "long " * 900
    page.reload()
    assert page.input_value("#question") == "long " * 900


def test_without_support_the_nearest_is_offered(site, make_user, open_page):
    make_user("anna")
    page = open_page(locale="en")
    log_in(page, site, "anna")
    ask(page, "How high is the Eiffel Tower?")
    turn = page.locator(".turn")
    expect(turn).to_have_attribute("data-state", "DONE")
    expect(turn.locator(".support")).to_have_text("No support in the sources")
    expect(turn.locator(".answer")).to_contain_text("The knowledge base has nothing that answers this.")
    assert turn.locator(".answer blockquote").count() == 0
    assert turn.locator(".source").count() > 0


def test_a_server_that_goes_away_and_comes_back(tmp_path, slow_log, make_user, open_page, files_folder):
    make_user("anna")
    with slow_server(tmp_path, piece_s=1) as site:
        page = open_page()
        log_in(page, site, "anna")
        ask(page, QUESTION)
        page.locator('.turn[data-state="STREAMING"] .answer p').first.wait_for()
    expect(page.locator("#connection")).not_to_be_empty()
    port = int(site.rpartition(":")[2])
    with slow_server(tmp_path, port=port):
        expect(page.locator("#connection")).to_be_empty(timeout=30_000)
        expect(page.locator(".turn")).to_have_attribute("data-state", "FAILED")
        expect(page.locator(".failure")).to_contain_text("Bitte frag noch einmal.")
        page.locator(".again button").click()
        expect(page.locator(".turn").last).to_have_attribute("data-state", "DONE")


def test_without_javascript_the_page_shows_the_answer_by_itself(slow_site, make_user, open_page):
    make_user("anna")
    page = open_page(java_script_enabled=False)
    log_in(page, slow_site, "anna")
    page.fill("#question", QUESTION)
    page.click(".composer-send")
    page.wait_for_url(re.compile(r"/conversations/\d+/"))
    expect(page.locator('.turn[data-state="DONE"] .answer blockquote').first).to_be_visible(timeout=30_000)


def test_deleting_a_conversation(site, make_user, open_page):
    make_user("anna")
    page = open_page()
    log_in(page, site, "anna")
    ask(page, QUESTION)
    expect(page.locator(".turn")).to_have_attribute("data-state", "DONE")
    page.get_by_role("link", name="Gespräche").click()
    page.get_by_role("link", name=f"„{QUESTION}“ löschen").click()
    page.get_by_role("button", name="Löschen").click()
    expect(page.locator(".notice")).to_have_text("Das Gespräch wurde gelöscht.")
    wait_until(lambda: not Conversation.objects.exists(), what="the conversation deleted")


def test_the_language_can_be_switched_everywhere(site, make_user, open_page):
    make_user("anna")
    page = open_page()
    page.goto(f"{site}/login/")
    expect(page.locator("h1")).to_have_text("Anmelden")
    page.get_by_role("button", name="English").click()
    expect(page.locator("h1")).to_have_text("Log in")
    log_in(page, site, "anna")
    expect(page.locator("h1")).to_have_text("What would you like to know?")
    page.get_by_role("button", name="Deutsch").click()
    expect(page.locator("h1")).to_have_text("Was möchtest du wissen?")
    assert page.locator("html").get_attribute("lang") == "de"


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_overflows(site, make_user, open_page, width):
    make_user("anna")
    page = open_page(width=width)
    log_in(page, site, "anna")
    addresses = ["/", "/conversations/", "/settings/", "/settings/password/", "/nirgends/"]
    ask(page, QUESTION)
    expect(page.locator(".turn")).to_have_attribute("data-state", "DONE")
    turn = Turn.objects.get()
    source = turn.citations.order_by("number")[0]
    addresses += [
        f"/conversations/{turn.conversation_id}/",
        f"/conversations/{turn.conversation_id}/delete/",
        f"/turns/{turn.pk}/receipt/",
        f"/sources/{source.version_id}/?chunk={source.chunk_id}",
    ]
    for address in addresses:
        page.goto(f"{site}{address}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, address
