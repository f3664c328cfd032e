"""Names that were meant for others."""

import pytest

from jobs.near_names import near_name

KNOWN = ("isr", "replicas", "min.insync.replicas", "leader", "voters")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("isrs", "isr"),
        ("ISRs", "isr"),
        ("replica", "replicas"),
        ("minInsyncReplica", "min.insync.replicas"),
        ("min-in-sync-replicas", None),
        ("leeder", "leader"),
        ("voter", "voters"),
        ("isr", None),
        ("retention.ms", None),
    ],
)
def test_the_name_that_was_probably_meant(name: str, meant: str | None) -> None:
    assert near_name(name, KNOWN) == meant


def test_names_that_are_near_by_chance_are_left_alone() -> None:
    assert near_name("voterss", KNOWN, {"voterss"}) is None
