"""Refusals of actions: shown on the page of the action, and by the API."""

from __future__ import annotations

from collections.abc import Mapping


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
