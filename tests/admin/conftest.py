"""Two tenants that must not see each other, and people who enter the cockpit."""

import shutil
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from django.db import connections
from django.test import Client
from playwright.sync_api import Page, sync_playwright

from accounts.models import Tenant, User
from knowledge.models import Document, IndexVersion, IngestJob
from knowledge.scopes import scope_of
from tests.conftest import PASSWORD

CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
SECRET = "Fliederbeersirup"


@pytest.fixture
def enter() -> Callable[[User], Client]:
    """enter(user) -> a browser in which the user is logged in."""

    def logged_in(user: User) -> Client:
        client = Client(headers={"accept-language": "en"}, raise_request_exception=False)
        client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
        return client

    return logged_in


@pytest.fixture
def editor(tenant, make_user, enter: Callable[[User], Client]) -> Client:
    return enter(make_user("edith", tenant, "editor"))


@pytest.fixture
def staff(make_staff, enter: Callable[[User], Client]) -> Client:
    return enter(make_staff("stella"))


class Foreign(NamedTuple):
    """What another tenant has: nobody else may come across any of it. Its names all hold SECRET."""

    tenant: Tenant
    user: User
    document: Document
    job: IngestJob
    index_version: IndexVersion


@pytest.fixture
def foreign(make_user, upload, run_jobs) -> Foreign:
    tenant = Tenant.objects.create(slug="hinterhof", name=f"Hof {SECRET}")
    user = make_user(f"ute-{SECRET}", tenant, "admin")
    accepted = upload(
        f"{SECRET}.md",
        f"# {SECRET} kochen\n\nEine Handvoll {SECRET} in den Topf geben und lange kochen.\n",
        scope=scope_of(tenant),
        note=f"Rezept {SECRET}",
    )
    run_jobs()
    document = Document.objects.get(pk=accepted.document.pk)
    return Foreign(
        tenant,
        user,
        document,
        document.jobs.get(),
        IndexVersion.objects.get(scope=document.scope),
    )


@pytest.fixture
def new_browser(monkeypatch) -> Iterator[Callable[..., Page]]:
    """new_browser(site, user) -> a page of a fresh Chromium window in which the user has logged in."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("there is no Chromium; install it to run the browser tests")
    # Playwright keeps an event loop in this thread, which Django would take for a mistake.
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGUMENTS)

        def open_page(site: str, user: User, **options: Any) -> Page:
            page = browser.new_context(locale="en-GB", **options).new_page()
            page.goto(f"{site}/login/?next=/admin/")
            page.fill("input[name=username]", user.username)
            page.fill("input[name=password]", PASSWORD)
            page.press("input[name=password]", "Enter")
            page.wait_for_url(f"{site}/admin/")
            return page

        yield open_page
        browser.close()
        # Beside an event loop, Django has opened a connection of its own here.
        connections.close_all()
