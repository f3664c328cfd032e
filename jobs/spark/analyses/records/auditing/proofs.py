"""What was proven of pairs of partitions before: the next audit begins behind it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from jobs.files import write_whole


@dataclass(frozen=True, slots=True)
class Proof:
    """Everything before the offsets `next` (source, target) was matched or is among the findings.

    `ids`: of the topics, source and target. `counts`: records by kind, `findings`: their values.
    """

    ids: tuple[str, str]
    next: tuple[int, int]
    level: str
    compared: int
    counts: Mapping[str, int] = field(default_factory=dict)
    findings: list[list[Any]] = field(default_factory=list)


class Proofs:
    """The proofs of the partitions of one topic and its copy, in a file."""

    def __init__(self, folder: Path, *names: str) -> None:
        key = sha256(json.dumps(names).encode()).hexdigest()[:32]
        self._file = folder / "audits" / f"{key}.json"
        self._known: dict[str, Any] = {}
        with contextlib.suppress(OSError, ValueError):
            self._known = json.loads(self._file.read_text())

    def get(self, partition: int) -> Proof | None:
        """Return what was proven of a partition."""
        kept = self._known.get(str(partition))
        if kept is None:
            return None
        return Proof(**{**kept, "ids": tuple(kept["ids"]), "next": tuple(kept["next"])})

    def put(self, partition: int, proof: Proof) -> None:
        """Keep what is proven of a partition now."""
        self._known[str(partition)] = asdict(proof)

    def save(self) -> None:
        """Write the file."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self._known)
        write_whole(self._file, lambda out: out.write(text.encode()))
