"""One thing that is wrong with a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from console.frame.pages.states import Severity


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that is wrong with a cluster: `what` is a sentence, `href` the page that has more."""

    severity: Severity
    word: str
    what: str
    href: str
    why: str = ""
    next: str = ""
    since: datetime | None = None
