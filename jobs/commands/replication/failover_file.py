"""What `crosslog failover --apply` saves before it sets anything, so that `--undo` can restore it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.json_text import fault_of, parse_json
from jobs.replication.failover.applying import Offsets
from jobs.replication.failover.model import FailoverPlan, GroupPlan

FORMAT = "crosslog.failover-undo"


class BadUndoFile(ValueError):
    """A file that was not written by `--apply`; the message says what is wrong."""


@dataclass(slots=True)
class UndoFile:
    """The plan, and what each group had before and got, by group."""

    plan: FailoverPlan
    destination: str
    before: dict[str, Offsets]
    written: dict[str, Offsets]

    def storing(self, path: Path, group: GroupPlan) -> Callable[[Offsets], None]:
        """Return what stores a group's offsets in the file, before they are changed."""

        def store(before: Offsets) -> None:
            self.before[group.group] = before
            self.written[group.group] = {
                one.destination: CommittedOffset(one.target)
                for one in group.to_be_set
                if one.destination
            }
            self.write(path)

        return store

    def write(self, path: Path) -> None:
        """Write the file so that it is on the disk, whole, when this returns."""
        draft = path.with_name(f".{path.name}.draft")
        with draft.open("w", encoding="utf-8") as file:
            json.dump(self._mapping(), file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)

    @classmethod
    def read(cls, path: Path) -> UndoFile:
        """Read a file; raises `BadUndoFile` and OSError."""
        try:
            return cls._of(parse_json(path.read_bytes()))
        except BadUndoFile:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise BadUndoFile(f"it was not written by --apply: {fault_of(error)}") from None

    @classmethod
    def _of(cls, values: Any) -> UndoFile:
        if values["format"] != FORMAT:
            raise BadUndoFile(f"its format is {values['format']}, and not {FORMAT}")
        return cls(
            FailoverPlan.from_mapping(values["plan"]),
            values["destination"],
            _offsets_by_group(values["before"]),
            _offsets_by_group(values["written"]),
        )

    def _mapping(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "destination": self.destination,
            "before": {group: _listed(one) for group, one in self.before.items()},
            "written": {group: _listed(one) for group, one in self.written.items()},
            "plan": self.plan.to_mapping(),
        }


def _listed(offsets: Offsets) -> list[list[Any]]:
    return [[w.topic, w.partition, one.offset, one.metadata] for w, one in sorted(offsets.items())]


def _offsets_by_group(values: Mapping[str, Any]) -> dict[str, Offsets]:
    return {
        group: {
            TopicPartition(topic, partition): CommittedOffset(offset, metadata)
            for topic, partition, offset, metadata in rows
        }
        for group, rows in values.items()
    }
