"""The forms of a page, as a browser would send them."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

_SHOWN = frozenset({"text", "number", "search", "email", "url", "textarea"})


@dataclass
class PageForm:
    """A form that is sent by POST: its address, the values it holds, and what kind each field is."""

    page: str
    action: str
    values: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)

    def is_shown_again(self, name: str) -> bool:
        """Whether a browser would show what was typed into this field."""
        return self.kinds[name] in _SHOWN


class _Reader(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.page = page
        self.forms: list[PageForm] = []
        self.form: PageForm | None = None
        self.select = ""
        self.textarea = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        name = given.get("name") or ""
        if tag == "form":
            is_post = (given.get("method") or "").lower() == "post"
            self.form = PageForm(self.page, given.get("action") or self.page) if is_post else None
            if self.form is not None:
                self.forms.append(self.form)
        elif self.form is None:
            return
        elif tag == "select":
            self.select = name
            self._take(name, "select", "")
        elif tag == "option" and self.select and "selected" in given:
            self.form.values[self.select] = given.get("value") or ""
        elif tag == "textarea":
            self.textarea = name
            self._take(name, "textarea", "")
        elif tag in {"input", "button"}:
            kind = given.get("type") or "text"
            is_off = kind in {"checkbox", "radio"} and "checked" not in given
            self._take(name, kind, None if is_off else given.get("value") or "")

    def handle_data(self, data: str) -> None:
        if self.form is not None and self.textarea:
            self.form.values[self.textarea] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.form = None
        elif tag == "select":
            self.select = ""
        elif tag == "textarea":
            self.textarea = ""

    def _take(self, name: str, kind: str, value: str | None) -> None:
        if self.form is None or not name or name == "csrfmiddlewaretoken":
            return
        self.form.kinds[name] = kind
        if value is not None:
            self.form.values[name] = value


def forms_of(page: str, html: str) -> list[PageForm]:
    """Return the forms of a page that have something to fill in or to press."""
    reader = _Reader(page)
    reader.feed(html)
    return [form for form in reader.forms if form.kinds]
