"""A real Chromium, the one that the system has; without one these tests are skipped and say why."""

import os
import shutil
from collections.abc import Iterator

import pytest
from django.core.management import call_command
from django.utils import timezone
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from pytest_django import DjangoDbBlocker
from pytest_django.live_server_helper import LiveServer

from console.accounts.models import User
from console.replication.flows.models import ReplicationFlow
from tests.browser.open_requests import OpenRequests
from tests.browser.watching import Watched
from tests.browser.world import make_person, make_world
from tests.waiting import PATIENCE, eventually

# Playwright runs an event loop in this thread; the tests use Django's database beside it, not inside it.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]

# A busy machine takes several times as long as an idle one; a test waits no longer than needed.
expect.set_options(timeout=10_000 * PATIENCE)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium per file: two that live at the same time would share Playwright's event loop."""
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip("there is no Chromium: put one on the PATH (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=path, args=ARGUMENTS, timeout=30_000 * PATIENCE
        )
        yield chromium
        chromium.close()


@pytest.fixture(params=["light", "dark"])
def theme(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    opened = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme="light")
    opened.set_default_timeout(30_000 * PATIENCE)
    with OpenRequests() as requests:
        yield opened
        opened.close()
        # The database of a test cannot be emptied while a late request of its page still reads it.
        eventually(requests.are_done)


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()


@pytest.fixture
def watched(page: Page, live_server: LiveServer) -> Iterator[Watched]:
    """The page, which fails the test when a script, the security policy or a stranger was met."""
    seen = Watched(page, live_server.url)
    yield seen
    assert seen.complaints == []


class Site:
    """A full console that one file's tests look at, and who looks."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.flow: ReplicationFlow = make_world(timezone.now())
        self.people: dict[str, User] = {
            role: make_person(role, name) for role, name in (("admin", "ana"), ("viewer", "vera"))
        }

    def person(self, role: str = "admin") -> User:
        """Return the person of this role."""
        return self.people[role]


@pytest.fixture(scope="module")
def site(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Site]:
    """Rows and a server for all tests of a file: what a test writes is rolled back.

    Its tests are marked with `django_db`, without a transaction of their own.
    """
    with django_db_blocker.unblock():
        server = LiveServer("localhost")
        yield Site(server.url)
        server.stop()
        call_command("flush", verbosity=0, interactive=False)


@pytest.fixture
def reader(page: Page, site: Site) -> Iterator[Watched]:
    """A page of the site, watched likewise."""
    seen = Watched(page, site.url)
    yield seen
    assert seen.complaints == []
