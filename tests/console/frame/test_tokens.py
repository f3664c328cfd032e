"""Every pair of ink and plane that the style sheets use can be read: WCAG 2.2 AA in both themes."""

import re
from pathlib import Path

import pytest

TOKENS = (Path(__file__).parents[3] / "static" / "css" / "tokens.css").read_text("utf-8")
COLOURS = dict(re.findall(r"--([\w-]+): (light-dark\([^)]*\));", TOKENS))
PLANES = ("bg", "surface", "sunken", "raised", "hover")
SEVERITIES = ("healthy", "info", "warning", "critical")
TEXT = [
    *[(ink, plane) for ink in ("ink", "ink-2", "ink-3", "accent", *SEVERITIES) for plane in PLANES],
    *[(severity, f"{severity}-soft") for severity in SEVERITIES],
    *[(ink, "accent-soft") for ink in ("ink", "ink-2", "ink-3", "accent")],
    ("bg", "ink"),
    ("bg", "ink-2"),
]
GRAPHICS = [
    *[
        (line, plane)
        for line in ("c1", "c2", "c3", "c4", "c5", "c6")
        for plane in ("surface", "bg", "hover")
    ],
    *[("line-control", plane) for plane in ("surface", "bg", "raised")],
    *[("accent", plane) for plane in (*PLANES, "accent-soft")],
]


def shade(token: str, theme: str) -> str:
    light, dark = re.findall(r"#[0-9a-f]{6}", COLOURS[token])
    return {"light": light, "dark": dark}[theme]


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels
    ]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("ink", "plane"), TEXT, ids=lambda token: token)
def test_text_has_a_contrast_of_4_5(ink, plane, theme):
    assert contrast(shade(ink, theme), shade(plane, theme)) >= 4.5


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("line", "plane"), GRAPHICS, ids=lambda token: token)
def test_lines_and_borders_that_matter_have_a_contrast_of_3(line, plane, theme):
    assert contrast(shade(line, theme), shade(plane, theme)) >= 3


def test_contrast_is_the_one_of_wcag():
    assert round(contrast("#000000", "#ffffff"), 2) == 21
    assert round(contrast("#767676", "#ffffff"), 2) == 4.54


def test_style_sheets_use_no_token_that_does_not_exist():
    sheets = [
        path.read_text("utf-8")
        for path in (Path(__file__).parents[3] / "static" / "css").glob("*.css")
    ]
    used = {name for sheet in sheets for name in re.findall(r"var\(--([\w-]+)\)", sheet)}
    assert used <= set(re.findall(r"--([\w-]+):", TOKENS))
