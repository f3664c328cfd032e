"""The manifest of an archive of offset syncs: next offset, files and gaps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from jobs.archives import load_manifest, values_of, write_manifest

VERSION = 2
# Version 1 named a folder of arrays beside the files, which were runs; both are replaced when it is written.
OLD = 1


class GapKind(StrEnum):
    """Why syncs are missing: `COMPACTED`, all but the last of a partition; `LOST`, perhaps the last one too.

    After a loss nothing that was written before counts any more.
    """

    COMPACTED = "compacted"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Part:
    """A file of offset syncs: those of the appends `first` to `last`, counted from 1."""

    file: str
    first: int
    last: int
    syncs: int


@dataclass(frozen=True, slots=True)
class Gap:
    """Offset syncs that are missing, somewhere from `from_offset` up to `to_offset` of their topic.

    They belong before the append `before`. `to_offset` is None when the topic was deleted: it is not known
    what else it held. `at_ms` is when it was seen (ms since 1970).
    """

    kind: GapKind
    from_offset: int
    to_offset: int | None
    before: int
    at_ms: int
    reason: str


@dataclass(frozen=True, slots=True)
class Source:
    """The topic that the syncs come from; the id is 22 characters of base64, None where there are none."""

    cluster: str
    topic: str
    topic_id: str | None = None


@dataclass(frozen=True, slots=True)
class Manifest:
    """The state of an archive; every change replaces it whole.

    `identity` is another one when the archive was removed and begun again. `next_offset` is where to resume
    reading; None: nothing was read yet. `appends` counts what was appended. `refused` counts records of the
    topic that are no offset syncs, by reason. `read_at_ms` is when the end of the topic was last reached,
    `newest_at_ms` the time of the newest sync (ms since 1970; None: never). `holes` counts those in the log
    so far, see `SyncRows`. `leader_epoch` is that of the last batch that was read, -1 for not known.
    """

    identity: str = ""
    source: Source | None = None
    next_offset: int | None = None
    appends: int = 0
    parts: tuple[Part, ...] = ()
    refused: Mapping[str, int] = field(default_factory=dict)
    gaps: tuple[Gap, ...] = ()
    holes: int = 0
    leader_epoch: int = -1
    newest_at_ms: int | None = None
    read_at_ms: int | None = None

    @property
    def sync_count(self) -> int:
        """How many offset syncs are kept."""
        return sum(part.syncs for part in self.parts)

    @property
    def losses(self) -> tuple[Gap, ...]:
        """The gaps before which nothing counts any more."""
        return tuple(gap for gap in self.gaps if gap.kind is GapKind.LOST)

    def save(self, folder: Path) -> None:
        """Put it into the folder of the archive."""
        write_manifest(folder, VERSION, values_of(self))


def counting_parts(manifest: Manifest, as_of_ms: int | None = None) -> tuple[Part, ...]:
    """Return the files that count: those after the last loss, now or as far as it was known at a time."""
    begin, end = 0, manifest.appends + 1
    for gap in manifest.losses:
        if as_of_ms is None or gap.at_ms <= as_of_ms:
            begin = gap.before
        else:
            end = min(end, gap.before)
    return tuple(part for part in manifest.parts if part.first >= begin and part.last < end)


def read_manifest(folder: Path) -> Manifest | None:
    """Read the manifest of an archive; None where there is none yet. Raises `BadArchive`."""
    return load_manifest(folder, VERSION, _manifest, also=OLD)


def _manifest(values: dict[str, Any]) -> Manifest:
    source = values["source"]
    values.pop("index", None)
    read = Manifest(**values)
    return replace(
        read,
        source=None if source is None else Source(**source),
        parts=tuple(
            Part(part["file"], part["first"], part["last"], part["syncs"])
            for part in values["parts"]
        ),
        gaps=tuple(Gap(**{**gap, "kind": GapKind(gap["kind"])}) for gap in values["gaps"]),
    )
