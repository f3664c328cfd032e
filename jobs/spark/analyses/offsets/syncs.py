"""The offset syncs that a question is about: those of a flow, or of any topic of offset syncs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobs.cluster.connection import Connection
from jobs.cluster.errors import InvalidFields
from jobs.replication.flow.spec import FlowSpec
from jobs.spark.analyses.analysis import Argument, ArgumentType

if TYPE_CHECKING:
    from jobs.replication.offset_syncs.archive_writer import SyncArchive
    from jobs.replication.offset_syncs.follower import SyncsPlace
    from jobs.spark.analyses.task import AnalysisTask

FLOW = Argument("flow", ArgumentType.FLOW, "Flow", "crosslog's, or one that MirrorMaker 2 copies.")
CLUSTER = Argument(
    "cluster",
    ArgumentType.CLUSTER,
    "Cluster of the offset syncs",
    "Without a flow: the cluster that holds the offset sync topic.",
)
TOPIC = Argument("topic", ArgumentType.TEXT, "Topic of offset syncs", "Without a flow.")
WHOSE = (FLOW, CLUSTER, TOPIC)
TASKS = 2
# For so long the follower of an archive may take to let go of it; between two tries.
LOCK_WAIT_S, _LOOK_S = 60, 0.5


@dataclass(frozen=True, slots=True)
class Syncs:
    """An archive of offset syncs; `flow` None: it is not known which flow they are of."""

    folder: Path
    flow: FlowSpec | None


def check_whose(arguments: Mapping[str, Any]) -> None:
    """Say whether either a flow is named or a cluster with a topic; raises InvalidFields."""
    flow, cluster, topic = (arguments[one.name] for one in WHOSE)
    if flow and (cluster or topic):
        name = "cluster" if cluster else "topic"
        raise InvalidFields({name: "Leave this empty: the flow defines it."})
    if not flow and not (cluster or topic):
        raise InvalidFields({"flow": "A flow is required, or a cluster and an offset sync topic."})
    if not flow and not cluster:
        raise InvalidFields({"cluster": "The cluster of the topic is required."})
    if not flow and not topic:
        raise InvalidFields({"topic": "The offset sync topic is required."})


def open_syncs(task: AnalysisTask, arguments: Mapping[str, Any]) -> Syncs:
    """Return the archive to ask: a flow's own, or one that is filled now from the topic, and kept.

    Raises `ClusterFault`, also when the topic is not there, and InvalidFields.
    """
    if arguments["flow"]:
        return open_flow_syncs(task, "flow")
    from jobs.replication.offset_syncs.follower import SyncsPlace

    connection = Connection.from_mapping(task.resources["cluster"]["connection"])
    return Syncs(_filled(task, SyncsPlace(connection, arguments["topic"])), None)


def open_flow_syncs(task: AnalysisTask, argument: str) -> Syncs:
    """Return what `open_syncs` does for the flow that an argument names; raises as it does."""
    from jobs.replication.offset_syncs.follower import place_of

    known = task.resources[argument]
    flow = FlowSpec.from_mapping(known["flow"])
    place = place_of(flow)
    if place is None:
        raise InvalidFields({argument: f"The flow {flow.name} writes no offset syncs."})
    archive = known["archive"]
    return Syncs(Path(archive) if archive is not None else _filled(task, place), flow)


def _filled(task: AnalysisTask, place: SyncsPlace) -> Path:
    from jobs.spark.analyses.offsets.backfill import fill

    folder = task.histories / "syncs" / _name(place)
    with open_for_writing(task, folder) as archive:
        fill(task, place, archive, TASKS)
    return folder


@contextmanager
def open_for_writing(task: AnalysisTask, folder: Path) -> Iterator[SyncArchive]:
    """Open the archive when its follower has let go of it; raises ArchiveBusy where it does not in time."""
    from jobs.archives import ArchiveBusy
    from jobs.replication.offset_syncs.archive_writer import SyncArchive

    began = time.monotonic()
    with ExitStack() as stack:
        while True:
            waited_s = int(time.monotonic() - began)
            try:
                archive = stack.enter_context(SyncArchive(folder))
                break
            except ArchiveBusy as busy:
                if waited_s >= LOCK_WAIT_S:
                    text = f"{busy}. End its follower or the other backfill, and run this again."
                    raise ArchiveBusy(text) from None
            text = "Waiting for the archive"
            task.report(text, done=waited_s, total=LOCK_WAIT_S, unit="s")
            time.sleep(_LOOK_S)
        yield archive


def _name(place: SyncsPlace) -> str:
    text = f"{place.connection.cluster_id or place.connection.bootstrap_servers} {place.topic}"
    return sha256(text.encode()).hexdigest()[:32]
