"""The global read-only switch: while CROSSLOG_READ_ONLY is set, nothing is changed."""

from __future__ import annotations

from django.conf import settings

from console.frame.errors import ActionRefused

SENTENCE = (
    "crosslog is read-only: it changes nothing, neither its own data nor a cluster. "
    "CROSSLOG_READ_ONLY is set; unset it to allow changes."
)


def is_read_only() -> bool:
    """Say whether the switch is on."""
    return bool(settings.CROSSLOG_READ_ONLY)


def refuse_when_read_only() -> None:
    """Raise `ActionRefused` while the switch is on."""
    if is_read_only():
        raise ActionRefused("read_only", SENTENCE)
