"""What each capability needs of a cluster: requests that crosslog speaks, KRaft, finalized features.

The table is `capabilities.toml`.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from jobs.cluster.protocol.transport import apis

# What crosslog speaks to brokers, all versions of a request together.
_SPOKEN: list[apis.SupportedApi] = [
    one if isinstance(one, apis.SupportedApi) else one.speaks
    for name, one in vars(apis).items()
    if isinstance(one, apis.Api | apis.SupportedApi) and name != "FETCH_LOG"
]
KEYS = {one.name: one.key for one in _SPOKEN}
SPOKEN = {name: sorted({v for s in _SPOKEN if s.name == name for v in s.versions}) for name in KEYS}


_WORD = re.compile(r"(\?)?(\w+)(?:([:=])(\d+))?")


@dataclass(frozen=True, slots=True)
class Need:
    """A request in one of the `versions` that crosslog speaks of it."""

    name: str
    versions: tuple[int, ...]
    on_all: bool = True


@dataclass(frozen=True, slots=True)
class Capability:
    """What a user knows by `title`; the fields are those of the table."""

    code: str
    title: str
    needs: str
    otherwise: str = ""
    other_needs: str = ""
    on_kraft: bool = False
    with_ids: bool = False
    feature: str = ""


def read_table(name: str) -> dict[str, Any]:
    """Return a table of this folder."""
    return tomllib.loads(
        (files("jobs.cluster.capabilities") / f"{name}.toml").read_text(encoding="utf-8")
    )


def read_needs(text: str) -> list[Need]:
    """Read the requests of a capability."""
    return [_need(*_WORD.fullmatch(word).groups("")) for word in text.split()]  # type: ignore[union-attr]  # the table's own words


def _need(any_one: str, name: str, sign: str, version: str) -> Need:
    spoken = SPOKEN[name]
    if version:
        spoken = [v for v in spoken if v == int(version) or (sign == ":" and v > int(version))]
    return Need(name, tuple(spoken), on_all=not any_one)


COPY_FROM, COPY_INTO = "copy_from", "copy_into"
RECORDS_FROM, RECORDS_INTO = "record_path_from", "record_path_into"
OFFSET_SYNCS, CHECKPOINTS, GROUP_OFFSETS = "offset_syncs", "checkpoints", "group_offsets"
TOPIC_SYNC, ACL_SYNC, RECREATED = "topic_sync", "acl_sync", "recreated"

CAPABILITIES = tuple(Capability(**one) for one in read_table("capabilities")["capability"])
