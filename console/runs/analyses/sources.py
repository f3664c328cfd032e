"""Which logs can be asked about: the room that keeps them registers itself, in `AppConfig.ready`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class LogSource:
    """A log that can be asked about.

    `name` is how people write it, `subject` what its runs are about ("log:3"), `folder` where its archive
    is, `clusters` whose rights count (none: those everywhere).
    """

    name: str
    label: str
    subject: str
    folder: Path
    clusters: Collection[int]


class LogSources(Protocol):
    """Finds logs; a module can be one."""

    def list_sources(self, user: Any) -> list[LogSource]:
        """Return the logs that a person may see, by name."""
        ...

    def get_source(self, name: str) -> LogSource | None:
        """Return a log by its name, whoever may see it; None when there is none."""
        ...


_REGISTERED: list[LogSources] = []


def register(sources: LogSources) -> None:
    """Make the logs of a room known."""
    _REGISTERED.append(sources)


def list_sources(user: Any) -> list[LogSource]:
    """Return the logs that a person may see."""
    return [one for sources in _REGISTERED for one in sources.list_sources(user)]


def get_source(name: str) -> LogSource | None:
    """Return a log by its name; None when there is none."""
    return next((one for sources in _REGISTERED if (one := sources.get_source(name))), None)
