"""A real browser: Debian's Chromium, or the one that KAMERPLANTER_CHROMIUM names."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.assistant.conftest import base, slow_log, slow_site
from tests.conftest import PASSWORD

__all__ = ["base", "slow_log", "slow_site"]

CHROMIUM = os.environ.get("KAMERPLANTER_CHROMIUM") or "/usr/bin/chromium"
# A fresh server loads its models with the first question.
expect.set_options(timeout=30_000)
SWITCHES = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if not Path(CHROMIUM).exists():
        pytest.skip(f"there is no {CHROMIUM}; KAMERPLANTER_CHROMIUM names another")
    # Playwright keeps an event loop in this thread, which Django takes for asynchronous code.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=list(SWITCHES))
        yield chromium
        chromium.close()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """open_page(width=390, locale="en") -> a page of a new session; what its scripts throw fails the test."""
    contexts = []
    thrown: list[str] = []

    def do(*, width: int = 1280, locale: str = "de", **options: object) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": 844},
            locale=locale,
            **options,  # type: ignore[arg-type]
        )
        context.set_default_timeout(20_000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: thrown.append(str(error)))
        return page

    yield do
    for context in contexts:
        context.close()
    assert thrown == []


def log_in(page: Page, site: str, username: str) -> None:
    page.goto(f"{site}/login/")
    page.fill("#id_username", username)
    page.fill("#id_password", PASSWORD)
    page.press("#id_password", "Enter")
    page.wait_for_url(f"{site}/")
