"""Voters and records of the metadata log, made for tests."""

from __future__ import annotations

import base64
import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from jobs.quorum.voters.voter_sets import Endpoint, ReplicaKey, VoterNode, VoterSet
from jobs.wire.metadata.log import LogRecord

_random = random.Random(853)


def directory() -> str:
    """A unique directory id."""
    return base64.urlsafe_b64encode(_random.randbytes(16)).decode().rstrip("=")


def node(id_: int, directory_id: str | None = None, *, has_directory: bool = True) -> VoterNode:
    """A voter as upstream's tests make one: LISTENER at localhost:9990 + id."""
    key = ReplicaKey(id_, (directory_id or directory()) if has_directory else None)
    endpoint = Endpoint("LISTENER", "localhost", 9990 + id_)
    return VoterNode(key, (endpoint,), 0, 1 if has_directory else 0)


def voters(*ids: int, has_directory: bool = True) -> VoterSet:
    return VoterSet(tuple(node(id_, has_directory=has_directory) for id_ in ids))


def key_of(set_: VoterSet, id_: int) -> ReplicaKey:
    found = set_.node(id_)
    assert found is not None
    return found.key


def plus(set_: VoterSet, *ids: int) -> VoterSet:
    return VoterSet((*set_.voters, *(node(id_) for id_ in ids)))


def minus(set_: VoterSet, *ids: int) -> VoterSet:
    return VoterSet(tuple(voter for voter in set_ if voter.id not in ids))


def renewed(set_: VoterSet, *ids: int) -> VoterSet:
    """The same ids, some of them with another directory."""
    return VoterSet(tuple(node(voter.id) if voter.id in ids else voter for voter in set_))


class Log:
    """Records one after the other, a batch each; time advances half a second a record."""

    def __init__(self, offset: int = 0, epoch: int = 1, at_ms: int = 1_800_000_000_000) -> None:
        self.records: list[Any] = []
        self.offset, self.epoch, self.at_ms = offset, epoch, at_ms

    def __iter__(self) -> Iterator[Any]:
        return iter(self.records)

    def noop(self, count: int = 1) -> Log:
        for _ in range(count):
            self.append("NO_OP_RECORD", {}, is_control=False)
        return self

    def kraft_version(self, level: int) -> Log:
        return self.append("KRAFT_VERSION", {"version": 0, "kRaftVersion": level})

    def voters(self, set_: VoterSet) -> Log:
        return self.append("KRAFT_VOTERS", set_.to_voters_record())

    def leader(
        self,
        id_: int,
        ids: Iterable[int],
        granting: Iterable[int] | None = None,
        *,
        epoch: int | None = None,
        after_ms: int = 500,
    ) -> Log:
        """The first record of the next epoch."""
        ids = list(ids)
        self.epoch = self.epoch + 1 if epoch is None else epoch
        self.at_ms += after_ms - 500
        said = {
            "version": 0,
            "leaderId": id_,
            "voters": [{"voterId": one} for one in ids],
            "grantingVoters": [{"voterId": one} for one in (ids if granting is None else granting)],
        }
        return self.append("LEADER_CHANGE", said)

    def feature(self, name: str, level: int) -> Log:
        said = {"name": name, "featureLevel": level}
        return self.append("FEATURE_LEVEL_RECORD", said, is_control=False)

    def snapshot(self, set_: VoterSet | None = None, level: int = 0, *, footer: bool = True) -> Log:
        """A snapshot of all before the next record, placed as a log's folder places it."""
        at_ms, offset = self.at_ms - 500, self.offset - 1
        inner = Log(0, self.epoch, at_ms)
        inner.append("SNAPSHOT_HEADER", {"version": 0, "lastContainedLogTimestamp": at_ms})
        if level:
            inner.kraft_version(level)
        if set_ is not None:
            inner.voters(set_)
        inner.feature("metadata.version", 25)
        if footer:
            inner.append("SNAPSHOT_FOOTER", {"version": 0})
        self.records += [replace(one, offset=offset, timestamp_ms=at_ms) for one in inner]
        return self

    def missing(self, count: int) -> Log:
        """Leave out as many offsets."""
        self.offset += count
        return self

    def wait(self, ms: int) -> Log:
        self.at_ms += ms
        return self

    def together(self, count: int) -> Log:
        """Make one batch of the last records."""
        last = self.records[-count:]
        first = last[0]
        self.records[-count:] = [
            replace(one, batch_offset=first.offset, timestamp_ms=first.timestamp_ms) for one in last
        ]
        return self

    def append(self, type_: str, said: dict[str, Any], *, is_control: bool = True) -> Log:
        self.records.append(
            LogRecord(
                offset=self.offset,
                epoch=self.epoch,
                timestamp_ms=self.at_ms,
                batch_offset=self.offset,
                position=self.offset * 100,
                is_control=is_control,
                type=type_,
                version=0,
                data=said,
            )
        )
        self.offset += 1
        self.at_ms += 500
        return self
