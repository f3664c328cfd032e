"""Questions about a metadata log: answered by the warm engine, one of them stopped and asked again."""

import os
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from jobs.cluster.admin.quorum import describe_quorum
from jobs.quorum.log.folder import read_folder
from jobs.spark import contract
from jobs.wire.metadata.log import LogRecord, read_log
from tests.journeys.analyses import answer, ask, copy_of_log, ended, imported
from tests.live.spark.runs import (
    ENGINE_STARTS_WITHIN_S,
    engine_of,
    family_of,
    freeze_workers,
    holding_work,
)
from tests.waiting import eventually

pytestmark = pytest.mark.journey
RECORDS = "metadata-records"


def test_a_stopped_question_is_asked_again_and_answered_truly_by_the_same_engine(world, tmp_path):
    log = copy_of_log(world.east.node(1).plan.data, tmp_path / "node-1")
    voters = [f"{one.id}@{one.directory_id}" for one in quorum_of(world).voters]
    with imported(world, log.parent) as name:
        told = answer(world, ask(world, "quorum-history", log=name))
        assert told["facts"]["voters_at"] == voters

        first = ask(world, RECORDS, log=name)
        before = answer(world, first)
        assert types_in(world, first) == counted(log)
        engine = engine_of(folder_of(world, first))
        supervisor = family_of(engine)[0]
        eventually(lambda: is_warm(engine), ENGINE_STARTS_WITHIN_S)

        with frozen_workers(engine) as workers:
            stopped = ask(world, RECORDS, log=name)
            eventually(lambda: holding_work(workers), ENGINE_STARTS_WITHIN_S)
            world.post(f"runs/{stopped}/cancel/")
            assert ended(world, stopped) == "STOPPED"

        again = ask(world, RECORDS, log=name)
        assert answer(world, again)["facts"] == before["facts"]
        assert types_in(world, again) == types_in(world, first)
        assert engine_of(folder_of(world, again)) == engine
        assert family_of(engine)[0] == supervisor


def quorum_of(world):
    """Return what the cluster itself says of its quorum."""
    return describe_quorum(world.east.connection)


def counted(log: Path) -> Counter[tuple[str, bool]]:
    """Count the records of a log by their types, one after the other."""
    return Counter(
        (record.type, record.is_control)
        for segment in read_folder(log).segments
        for record in read_log(segment.path.read_bytes())
        if isinstance(record, LogRecord)
    )


def types_in(world, run: str) -> Counter[tuple[str, bool]]:
    """Return how many records of each type an answer counted."""
    rows = world.get(f"runs/{run}/tables/types/?limit=500")
    return Counter({(row["type"], row["is_control"]): row["records"] for row in rows["rows"]})


def folder_of(world, run: str) -> Path:
    """Return the folder of a run."""
    return Path(world.console.home / "runs" / run)


def is_warm(engine: Path) -> bool:
    """Return whether the engine has nothing else to do than to answer."""
    return "the engine is warm" in (engine / contract.LOG).read_text()


@contextmanager
def frozen_workers(engine: Path) -> Iterator[list[int]]:
    """Workers that stand still; those that are left go on after the block."""
    workers = freeze_workers(engine)
    try:
        yield workers
    finally:
        for pid in workers:
            with suppress(ProcessLookupError):  # one whose question was stopped
                os.kill(pid, signal.SIGCONT)
