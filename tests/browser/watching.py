"""Notes everything that a page must never do while a test drives it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.test import Client
from playwright.sync_api import ConsoleMessage, Page, Request, Response, expect

from tests.browser.axe import violations

# Where pictures of the pages go, for people who want to look at them.
ARTIFACTS = os.environ.get("CROSSLOG_ARTIFACTS")
NARROW = {"width": 390, "height": 800}
# Tables that are wider than what is seen of them, once two frames have drawn: a drawing (.matrix) may scroll.
# And the page, where it is wider than the window.
TOO_WIDE = """async () => {
  for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
  const tables = [...document.querySelectorAll("main table:not(.matrix)")].filter((one) => one.checkVisibility({ contentVisibilityAuto: true })).flatMap((one) => {
    const box = one.parentElement;
    const excess = one.offsetWidth - box.clientWidth;
    const name = box.getAttribute("aria-label") || one.caption?.textContent || one.textContent.slice(0, 40);
    return excess > 1 ? [`the table ${name} is ${excess} px wider than its card`] : [];
  });
  const width = document.documentElement.scrollWidth;
  return width > innerWidth ? [...tables, `the page is ${width} px wide`] : tables;
}"""
SERVER_ERROR = 500


class Watched:
    """A page and its complaints: script errors, policy violations, strangers asked, server errors."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.complaints: list[str] = []
        page.on("pageerror", lambda error: self.complaints.append(f"script error: {error}"))
        page.on("console", self._note_message)
        page.on("request", self._note_request)
        page.on("response", self._note_response)

    def sign_in(self, person) -> None:
        """Give the browser a session of this person, without the way over the form."""
        client = Client()
        client.force_login(person)
        session = client.cookies[settings.SESSION_COOKIE_NAME].value
        self.page.context.add_cookies(
            [{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": self.url}]
        )

    def open(self, path: str) -> Page:
        """Go to a page and wait until it has what it shows at first."""
        self.page.goto(f"{self.url}{path}")
        expect(self.page.locator(".chart__summary", has_text="Loading…")).to_have_count(0)
        return self.page

    def keep_picture(self, name: str) -> None:
        """Write a picture of the whole page, where somebody asked for pictures."""
        if ARTIFACTS is None:
            return
        path = Path(ARTIFACTS) / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        # Hiding the caret would need an inline style, which the policy forbids.
        self.page.screenshot(path=path, full_page=True, caret="initial")

    def look(self, name: str) -> list[str]:
        """Return what is wrong with the page that is open, in both themes and on a narrow screen."""
        found = self._too_wide("wide")
        for theme in ("light", "dark"):
            self.page.emulate_media(color_scheme=theme)
            self.keep_picture(f"pages/{name}-{theme}")
            with self.unheard():
                problems = violations(self.page, only_colours=theme == "dark")
            found += [f"{theme}: {problem}" for problem in problems]
        self.page.emulate_media(color_scheme="light")
        self.page.set_viewport_size(NARROW)
        self.keep_picture(f"pages/{name}-narrow")
        return found + self._too_wide("narrow")

    def _too_wide(self, window: str) -> list[str]:
        return [f"{window}: {text}" for text in self.page.evaluate(TOO_WIDE)]

    @contextmanager
    def unheard(self) -> Iterator[None]:
        """Forget complaints about what a test itself puts into the page: axe writes styles."""
        heard = len(self.complaints)
        yield
        del self.complaints[heard:]

    def _note_message(self, message: ConsoleMessage) -> None:
        if "Content Security" in message.text or "Permissions policy" in message.text:
            self.complaints.append(f"policy: {message.text}")

    def _note_request(self, sent: Request) -> None:
        if not sent.url.startswith((self.url, "data:")):
            self.complaints.append(f"asked a stranger: {sent.url}")

    def _note_response(self, answer: Response) -> None:
        if answer.status >= SERVER_ERROR:
            self.complaints.append(f"{answer.status} from {answer.url}")
