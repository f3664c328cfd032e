"""HTML of a document: headings with anchors, links between chapters, no HTML of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from django.urls import reverse
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from console.frame.help.chapters import CHAPTERS

# What a document shows or offers besides other documents.
FILES = {".png": "image/png", ".json": "application/json", ".yaml": "text/yaml; charset=utf-8"}
# Marks for the tests and the programs that write a document.
_COMMENT = re.compile(r"^<!--.*-->\n", re.MULTILINE)
_ABSOLUTE = re.compile(r"https?://")
_HIGHEST, _DEEPEST_CONTENTS = 2, 3


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading below the title; `level` is 2 or more."""

    level: int
    text: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Chapter:
    """A rendered document; `contents` are the headings of two levels, `anchors` those of all."""

    title: str
    html: str
    contents: Sequence[Heading]
    anchors: frozenset[str]

    @property
    def sections(self) -> list[Heading]:
        """The headings of the highest level."""
        return [heading for heading in self.contents if heading.level == _HIGHEST]


def read_chapter(path: Path) -> Chapter:
    """Return a document as HTML; rendered again when the file has changed."""
    return _render(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=2 * len(CHAPTERS))
def _render(path: Path, _changed_ns: int) -> Chapter:
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    markdown.add_render_rule("table_open", _open_table)
    markdown.add_render_rule("table_close", _close_table)
    markdown.add_render_rule("fence", _show_code)
    tokens = markdown.parse(_COMMENT.sub("", path.read_text("utf-8")))
    title, start = path.stem, 0
    if tokens and tokens[0].type == "heading_open" and tokens[0].tag == "h1":
        title, start = _text_of(tokens[1]), 3
    headings = list(_name_headings(tokens[start:]))
    for token in tokens:
        _readdress(token, path.parent)
    return Chapter(
        title,
        markdown.renderer.render(tokens[start:], markdown.options, {}),
        [heading for heading in headings if heading.level <= _DEEPEST_CONTENTS],
        frozenset(heading.anchor for heading in headings),
    )


def _name_headings(tokens: Sequence[Token]) -> Iterator[Heading]:
    """Give each heading the anchor that GitHub gives it."""
    used: dict[str, int] = {}
    for opening, inline in pairwise(tokens):
        if opening.type != "heading_open":
            continue
        text = _text_of(inline)
        anchor = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        again = used[anchor] = used.get(anchor, -1) + 1
        opening.attrSet("id", f"{anchor}-{again}" if again else anchor)
        yield Heading(int(opening.tag[1]), text, str(opening.attrGet("id")))


def _text_of(inline: Token) -> str:
    return "".join(child.content for child in inline.children or ())


def _readdress(token: Token, folder: Path) -> None:
    """Lead links and pictures to addresses of the console; a link to what it does not serve is text."""
    closed = False
    for child in token.children or ():
        if child.type == "image":
            child.attrSet("src", _address(str(child.attrGet("src")), folder) or "")
        elif child.type == "link_open":
            address = _address(str(child.attrGet("href")), folder)
            closed = address is None
            child.attrSet("href", address or "")
            child.hidden = closed
        elif child.type == "link_close":
            child.hidden = closed


def _address(target: str, folder: Path) -> str | None:
    if target.startswith("#") or _ABSOLUTE.match(target):
        return target
    name, _, anchor = target.partition("#")
    stem, _, suffix = name.rpartition(".")
    if suffix == "md" and stem in CHAPTERS:
        return reverse("help:chapter", args=[stem]) + (f"#{anchor}" if anchor else "")
    if f".{suffix}" in FILES and (folder / name).is_file() and "/" not in name:
        return reverse("help:file", args=[name])
    return None


def _open_table(renderer: Any, tokens: Sequence[Token], index: int, *_: Any) -> str:
    return '<div class="help__table" tabindex="0" role="group" aria-label="Table"><table>'


def _show_code(renderer: Any, tokens: Sequence[Token], index: int, *more: Any) -> str:
    """Return code in a box that scrolls, by keyboard as well."""
    html: str = RendererHTML.fence(renderer, tokens, index, *more)
    return html.replace("<pre>", '<pre tabindex="0">', 1)


def _close_table(*_: Any) -> str:
    return "</table></div>"
