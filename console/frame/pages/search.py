"""Search hits of the palette: which pages fit the words, and the best of them first."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import Any, TypeVar

from django.db.models import Case, Model, Q, QuerySet, Value, When

from console.frame.security.access import visible

M = TypeVar("M", bound=Model)
_NOT_IN_LABEL = 4


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A page: `kind` says of what, such as cluster, topic or flow; `also` are further words that find it.

    `clusters` are those on which the right to open it is needed; None: its rows are scoped already.
    """

    kind: str
    label: str
    path: str
    detail: str = ""
    also: str = ""
    clusters: Collection[int] | None = None


def words_of(text: str) -> list[str]:
    return text.casefold().split()


def fits(words: Iterable[str], *texts: str) -> bool:
    """Return whether each word is in one of the texts, in any order."""
    text = " ".join(texts).casefold()
    return all(word in text for word in words)


def rank(hits: Iterable[SearchHit], words: Sequence[str], at: str = "") -> list[SearchHit]:
    """Return the hits that fit all words, the best first.

    The whole phrase counts before its words, each by where it is in the label: all of it, its begin, the
    begin of a word, inside a word, not at all. Then pages that share most with the address `at`.
    """
    phrase, near = " ".join(words), set(filter(None, at.split("/")))

    def order(hit: SearchHit) -> tuple[int, int, int, int, str, str]:
        label = hit.label.casefold()
        shared = len(near.intersection(hit.path.split("/")))
        levels = sum(_level(word, label) for word in words)
        return _level(phrase, label), levels, -shared, len(label), label, hit.detail

    fitting = (one for one in hits if fits(words, one.label, one.kind, one.detail, one.also))
    return sorted(fitting, key=order)


def _level(word: str, label: str) -> int:
    at = label.find(word)
    if at < 0:
        return _NOT_IN_LABEL
    if at == 0:
        return 0 if word == label else 1
    return 2 if re.search(rf"[\W_]{re.escape(word)}", label) else 3


def pages_of(
    words: Sequence[str],
    kind: str,
    subject: str,
    tabs: Iterable[Mapping[str, Any]],
    clusters: Collection[int] | None = None,
) -> Iterator[SearchHit]:
    """Yield those pages of a subject that fit: of its tabs, the first is the subject itself.

    The last word of an address finds a page, too.
    """
    for number, tab in enumerate(tabs):
        label, detail = (str(tab["label"]), subject) if number else (subject, "")
        route = tab["href"].rstrip("/").rpartition("/")[2]
        if fits(words, label, kind, detail, route):
            yield SearchHit(kind, label, tab["href"], detail, route, clusters)


def find_rows(
    user: Any, rows: QuerySet[M], words: Sequence[str], kind: str, *fields: str
) -> QuerySet[M]:
    """Return the rows that a person sees and that fit, by the fields; the first one is the label."""
    open_words = [word for word in words if word not in kind]
    found = (
        reduce(or_, (Q(**{f"{field}__icontains": word}) for field in fields)) for word in open_words
    )
    rows = visible(user, rows.filter(reduce(and_, found, Q())))
    label, phrase = fields[0], " ".join(words)
    exact = Q(**{f"{label}__iexact": phrase})
    begins = Q(**{f"{label}__istartswith": phrase})
    for word in open_words:
        exact |= Q(**{f"{label}__iexact": word})
        begins |= Q(**{f"{label}__istartswith": word})
    fit = Case(When(exact, then=Value(0)), When(begins, then=Value(1)), default=Value(2))
    return rows.order_by(fit, label, "pk")
