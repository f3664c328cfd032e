"""Asks axe-core what people who read with a screen reader or without colours would trip over."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

AXE = Path(__file__).parent.parent / "vendor" / "axe-4.14.1.min.js"
# WCAG 2.2 A and AA, and what axe itself calls good practice.
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# The only rule whose answer depends on the theme.
OF_COLOURS = ["color-contrast"]
_ASK = """async ([type, values, foreign]) => (await axe.run(document, {
  runOnly: {type, values}, resultTypes: ["violations"],
})).violations.map((found) => ({
  ...found, nodes: found.nodes.filter(({target}) => !foreign || ["serious", "critical"].includes(found.impact)
    || !document.querySelector(target[0]).closest(foreign)),
})).filter(({nodes}) => nodes.length).map(({id, impact, help, nodes}) => ({
  id, impact, help, where: nodes.slice(0, 4).map(({target, failureSummary}) =>
    `${target.join(" ")}: ${failureSummary.split("\\n").slice(1, 2).join("").trim()}`),
}))"""


def violations(page: Page, *, only_colours: bool = False, foreign: str = "") -> list[str]:
    """Return a sentence for each violation on the page as it is now.

    `foreign` selects what a vendored library draws: there only serious and critical ones count.
    """
    asked = ["rule", OF_COLOURS] if only_colours else ["tag", TAGS]
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text("utf-8"))
    return [
        f"{found['impact']} {found['id']}: {found['help']}. {' | '.join(found['where'])}"
        for found in page.evaluate(_ASK, [*asked, foreign])
    ]
