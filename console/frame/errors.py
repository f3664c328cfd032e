"""Refusals of actions, and rows that do not exist: shown on pages, and by the API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from django.http import Http404

_T = TypeVar("_T")


class ActionRefused(Exception):
    """The request was understood and is not done, for a reason that the person can do something about.

    `code` is stable for programs, `message` is a sentence for people, `fields` maps the name of a
    form field to its sentence when the reason belongs to a field.
    """

    def __init__(self, code: str, message: str, fields: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.fields = dict(fields or {})


def or_404(row: _T | None, sentence: str = "") -> _T:
    """Return a row that was found; raises `Http404` with a sentence for people where there is none."""
    if row is None:
        raise Http404(sentence) if sentence else Http404
    return row
