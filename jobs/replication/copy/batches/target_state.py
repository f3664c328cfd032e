"""What the target says about a flow: the limits of its topics, its positions, and where they are written."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import threading
from collections.abc import Callable, Collection, Mapping
from functools import cache, partial
from typing import TypeVar

from jobs.cluster.admin.configs import read_topic_configs
from jobs.cluster.admin.topics import describe_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault, Remedy, UnknownTopicOrPartition
from jobs.files import cache_folder
from jobs.memory import give_back_library, give_back_memory
from jobs.replication.copy.batches.commit import InternalTopics
from jobs.replication.copy.batches.partition import BatchPartition, Reached
from jobs.replication.copy.positions import Positions, positions_topic, read_positions
from jobs.replication.copy.sync_tracker import SyncTracker
from jobs.replication.flow.internal_topics import syncs_place
from jobs.replication.flow.spec import FlowSpec
from jobs.wire.rebatch.rebatcher import warm_up

DEFAULT_LIMIT_BYTES = 1_048_588
_LIMIT = "max.message.bytes"
COMPILER = "libllvmlite"


class PositionsMoved(ClusterFault):
    """Somebody else has written the positions of partitions that this copier copies."""

    code = "positions_moved"
    remedy = Remedy.OPERATOR
    hint = "Only one program may copy a partition: stop MirrorMaker 2, or the other flow of the same name."


class TargetState:
    """Asks with the blocking client, in a thread of its own; every method raises `ClusterFault`."""

    def __init__(self, flow: FlowSpec) -> None:
        self._flow = flow
        self.positions = Positions({})
        self.internal_topics = InternalTopics(flow.source.alias, 1, None)

    def prepare(self, parts: Collection[BatchPartition]) -> None:
        """Find out what must be known before these partitions are copied."""
        get_ready()
        flow = self._flow
        with ClusterClient(flow.target) as target:
            configs = read_topic_configs(target, {part.remote.topic for part in parts}, [_LIMIT])
            self.positions = read_positions(target, flow.source.alias)
            described = describe_topics(target, [positions_topic(flow.source.alias)])[0]
        if described.error is not None or not described.partitions:
            problem = described.error or "it has no partitions"
            raise UnknownTopicOrPartition(
                f"The topic of positions {described.name} cannot be used: {problem}",
                cluster=flow.target.alias,
            )
        topic, on_source = syncs_place(flow)
        self.internal_topics = InternalTopics(
            flow.source.alias, len(described.partitions), topic, on_source
        )
        for part in parts:
            limit = configs.get(part.remote.topic, {}).get(_LIMIT, DEFAULT_LIMIT_BYTES)
            part.batch_filter.limit_bytes = int(limit)
            self._load_position_notes(part)

    def resolve_uncertain_commit(
        self, parts: Collection[BatchPartition], pending: Mapping[TopicPartition, Reached]
    ) -> None:
        """Find out whether an uncertain commit counts; no older producer can change it now."""
        with ClusterClient(self._flow.target) as target:
            self.positions = read_positions(target, self._flow.source.alias)
        for part in parts:
            reached = pending.get(part.where)
            entry = self.positions.entry(part.where)
            if reached is not None and entry is not None:
                settle_uncertain(part, reached, entry.next_offset, self._flow.target.alias)

    def _load_position_notes(self, part: BatchPartition) -> None:
        """Take what was noted beside the position that this partition starts from."""
        entry = self.positions.entry(part.where)
        if entry is None or entry.next_offset != part.committed:
            part.needs_note = True  # so that it is there even if nothing is copied
            return
        part.committed_epoch = -1 if entry.leader_epoch is None else entry.leader_epoch
        if entry.last_sync is not None:
            part.syncs = SyncTracker.after(entry.last_sync, entry.untold_syncs)


def settle_uncertain(part: BatchPartition, reached: Reached, next_offset: int, alias: str) -> None:
    """Settle a commit up to `reached` if the position that was read after it, `next_offset`, says it counts.

    A commit that only told offset syncs left the position as it was: it is taken as lost, and they are
    written once more. Raises `PositionsMoved`.
    """
    if next_offset == part.committed:
        return
    if next_offset == reached.next_offset:
        part.settle(reached)
    elif not part.needs_note:
        raise PositionsMoved(
            f"{part.where} was copied up to {part.committed} or {reached.next_offset}, but its "
            f"position says {next_offset}.",
            cluster=alias,
        )


@cache
def get_ready() -> None:
    """Make the compiled loops ready, so that no transaction is open meanwhile; seconds, once a machine.

    What is loaded by now is left out of later garbage collections: each that looks through all of it holds up
    records for 100 ms and more.
    """
    os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_folder() / "numba"))
    warm_up()
    gc.collect()
    gc.freeze()
    give_back_memory()
    give_back_library(COMPILER)  # the loops are loaded


_Result = TypeVar("_Result")


async def in_thread(work: Callable[[], _Result]) -> _Result:
    """Return what work that blocks returns, beside the event loop; raises what it raises.

    When the caller is cancelled the work continues alone: a pool of threads would be waited for at the end.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[_Result] = loop.create_future()

    def tell(finish: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: no caller waits any more
            loop.call_soon_threadsafe(lambda: None if done.done() else finish())

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001  raised again by the caller
            tell(partial(done.set_exception, error))
        else:
            tell(partial(done.set_result, result))

    name = f"{threading.current_thread().name}, question"
    threading.Thread(target=run, name=name, daemon=True).start()
    return await done
