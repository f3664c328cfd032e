#!/usr/bin/env python3
"""Take screenshots of the pages of a running console, for the documents and for reviews.

    .venv/bin/python tools/screenshots.py http://127.0.0.1:8000 --user admin --password-file password.txt

`#` in an address is a number, `*` a name: the first link of that form on the page above is followed.
"""

from __future__ import annotations

import argparse
import getpass
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
PAGES = {
    "overview": "/",
    "events": "/events/",
    "findings": "/findings/",
    "clusters": "/clusters/",
    "cluster": "/clusters/*/",
    "brokers": "/clusters/*/brokers/",
    "topics": "/clusters/*/topics/",
    "topic": "/clusters/*/topics/*/",
    "groups": "/clusters/*/groups/",
    "flows": "/replication/",
    "flow": "/replication/#/",
    "flow-partitions": "/replication/#/partitions/",
    "flow-findings": "/replication/#/findings/",
    "flow-checkpoints": "/replication/#/checkpoints/",
    "flow-translation": "/replication/#/translate/",
    "flow-control": "/replication/#/control/",
    "flow-failover": "/replication/#/failover/",
    "new-flow": "/replication/new/",
    "quorums": "/quorum/",
    "quorum": "/quorum/*/",
    "voters": "/quorum/*/voters/",
    "metadata-changes": "/quorum/*/log/",
    "state": "/quorum/*/state/",
    "availability": "/availability/*/",
    "availability-partitions": "/availability/*/partitions/",
    "replica-placement": "/availability/*/placements/",
    "failure-simulation": "/availability/*/what-if/",
    "single-failure-matrix": "/availability/*/what-if/matrix/",
    "observer-promotion": "/availability/*/promotion/",
    "runbooks": "/availability/*/runbooks/",
    "streams": "/streams/",
    "application": "/streams/*/*/",
    "analyses": "/runs/new/",
    "runs": "/runs/",
    "reports": "/reports/",
    "report": "/reports/#/",
    "schedules": "/schedules/",
    "audit-log": "/audit/",
    "users": "/people/",
    "help": "/help/",
    "api": "/api/v1/docs/",
}
# What the documents show.
IN_DOCUMENTS = {"overview": "screenshot-overview.png"}
# Pages beside those of a cluster.
NO_NAMES = ("import", "new", "made", "delivery", "kinds", "mirror-config")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
HEIGHT = 900
TIMEOUT_MS = 60_000.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Take the screenshots and return the exit code: 1 when a page was left out."""
    options = read_options(arguments)
    chromium = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if chromium is None:
        print("No Chromium on the PATH: " + ", ".join(BROWSERS) + ". Install one.", file=sys.stderr)
        return 2
    password = (
        options.password_file.read_text("utf-8").strip()
        if options.password_file
        else getpass.getpass(f"Password of {options.user}: ")
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        left_out = [*take_all(browser, options.url.rstrip("/"), options.user, password, options)]
        browser.close()
    return 1 if left_out else 0


def take_all(
    browser: Browser, url: str, user: str, password: str, options: argparse.Namespace
) -> Iterator[str]:
    """Write the chosen screenshots; yield the names of pages that could not be found."""
    themes = ("light", "dark") if options.theme == "both" else (options.theme,)
    for theme in themes:
        context = browser.new_context(
            viewport={"width": options.width, "height": HEIGHT},
            color_scheme=theme,
            reduced_motion="reduce",
            # Waiting for charts evaluates a text in the page.
            bypass_csp=True,
        )
        context.set_default_timeout(TIMEOUT_MS)
        sign_in(context, url, user, password)
        page = context.new_page()
        for name in options.only or (IN_DOCUMENTS if options.docs else PAGES):
            address = find_address(page, url, PAGES[name])
            if address is None:
                print(f"{name}: no link of the form {PAGES[name]}", file=sys.stderr)
                yield name
                continue
            path = options.into / f"{name}-{theme}.png"
            if options.docs:
                path = ROOT / "docs" / IN_DOCUMENTS[name]
            take(page, f"{url}{address}", path, whole=not options.docs)
            print(f"{name}: {path}")
        context.close()


def sign_in(context: BrowserContext, url: str, user: str, password: str) -> None:
    """Sign in through the form; raises `SystemExit` when the console refuses it."""
    page = context.new_page()
    page.goto(f"{url}/login/")
    page.fill("[name=username]", user)
    page.fill("[name=password]", password)
    page.press("[name=password]", "Enter")
    page.wait_for_load_state()
    if urlsplit(page.url).path == "/login/":
        raise SystemExit(f"{url} refused the sign-in of {user}. Check --user and --password-file.")
    page.close()


def find_address(page: Page, url: str, form: str) -> str | None:
    """Return the address that fits a form, following links for its `#` and `*`; None without one."""
    address, links = "/", []
    for part in form.strip("/").split("/"):
        if part not in {"#", "*"}:
            address, links = f"{address}{part}/" if part else address, []
            continue
        if not links:
            page.goto(f"{url}{address}")
            links = page.locator("main a[href]").evaluate_all(
                "links => links.map(link => new URL(link.href).pathname)"
            )
        # Of two names in a row the list may link only pages below both.
        fits = link_pattern(address, part)
        found = next((match[0] for link in links if (match := fits.match(link))), None)
        if found is None:
            return None
        address = found
    return address


def link_pattern(address: str, part: str) -> re.Pattern[str]:
    """Return what fits links to the pages right below an address."""
    names = "|".join(NO_NAMES)
    piece = r"\d+" if part == "#" else rf"(?!(?:{names})/)[^/]+"
    return re.compile(rf"{re.escape(address)}{piece}/")


def take(page: Page, address: str, path: Path, *, whole: bool) -> None:
    """Write a screenshot of a page whose charts are drawn, or only of what fits the window."""
    page.goto(address)
    page.wait_for_load_state("load")
    page.wait_for_function(
        "![...document.querySelectorAll('.chart__summary')].some(one => one.textContent.includes('Loading'))"
    )
    if page.locator("#api-docs").count():
        page.locator("#api-docs .opblock-tag").first.wait_for()
    path.parent.mkdir(parents=True, exist_ok=True)
    # Hiding the caret would need an inline style, which the policy of the console forbids.
    page.screenshot(path=path, full_page=whole, caret="initial")


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description="Take screenshots of the pages of a running console."
    )
    parser.add_argument("url", help="address of the console, for example http://127.0.0.1:8000")
    parser.add_argument("--user", default="admin")
    parser.add_argument(
        "--password-file", type=Path, help="a file with the password; default: a prompt"
    )
    parser.add_argument(
        "--into", type=Path, default=ROOT / "var" / "screenshots", help="folder of the files"
    )
    parser.add_argument("--theme", choices=["light", "dark", "both"], default="light")
    parser.add_argument("--width", type=int, default=1440, help="width of the window in px")
    parser.add_argument("--only", nargs="+", choices=sorted(PAGES), help="names of pages")
    parser.add_argument(
        "--docs", action="store_true", help="only the screenshots of the documents, into docs/"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
