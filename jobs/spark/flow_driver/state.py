"""The state of a flow's driver between two starts, and its form in `progress.json`."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicDescription, TopicPartition
from jobs.cluster.errors import InvalidFields
from jobs.replication.copy.contract import CopyState, PartitionProgress, PartitionStart
from jobs.replication.flow.preflight import Preflight
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.topics.changes import PARTITIONS
from jobs.replication.topics.sync import TopicSync, sync_topics
from jobs.spark import contract
from jobs.spark.channel.messages import values_of
from jobs.spark.contract import DRIVER_STARTED, FIRST_RECORD, SURVEYED, TASKS_STARTED
from jobs.spark.control import ControlFile, with_settings
from jobs.spark.flow_driver.progress_table import ProgressTable, where_of

# MirrorMaker 2 looks every ten minutes; asking is cheap, and nothing is written that is right already.
SYNC_INTERVAL_S = 60.0
MOST_TOLD = 50
# Progress without changes is written this often: its age says that the driver lives.
UNCHANGED_S = 5.0
# Large progress is written less often: so many rows per second.
ROWS_PER_S = 500


@dataclass(slots=True)
class TopicSyncSchedule:
    """Syncs once at the beginning and then about once a minute; `last` is what came of it."""

    every_s: float = SYNC_INTERVAL_S
    clock: Callable[[], float] = time.monotonic
    last: TopicSync | None = None
    _due_at: float = 0.0

    def sync_if_due(
        self,
        flow: FlowSpec,
        source: ClusterClient,
        target: ClusterClient,
        topics: Sequence[TopicDescription],
    ) -> bool:
        """Make the remote topics follow, if it is time; returns whether one of them grew. Raises nothing."""
        if self.clock() < self._due_at:
            return False
        known = self.last.overrides if self.last else None
        found = sync_topics(source, target, flow, topics, datetime.now(UTC), known)
        self._due_at = self.clock() + self.every_s
        self.last = found
        return any(change.key == PARTITIONS for change in found.changes)

    def request_sync(self) -> None:
        """Let the next survey make the topics follow: the settings changed."""
        self._due_at = 0.0

    def to_mapping(self) -> dict[str, Any] | None:
        """Return JSON values, at most 50 of each kind; None before the first sync."""
        if self.last is None:
            return None
        told = self.last.to_mapping()
        return {k: v[:MOST_TOLD] if isinstance(v, list) else v for k, v in told.items()}


Row = dict[str, Any]
# Of a task that crashes every second, all of the last minutes; the console keeps a day of them.
MOST_CRASHES = 1000

_WITH_A_TASK = frozenset({CopyState.COPYING, CopyState.CAUGHT_UP})


@dataclass(slots=True)
class FlowState:
    """`topic_ids` are those under which topics are copied.

    `given_up` are partitions that failed and stay so, `recreated` topics whose failures count no more: they
    were created again, and that is accepted. `ends` are the offsets at which the run is to end (None:
    never), `unknown_ends` the partitions whose end is not known yet. `message` is one sentence, `fault`
    why the clusters were not seen. `crashes` are the times (ms) of the newest restarts. `checkpoints` tells
    what came of writing them, None: nothing yet. `stages` are the moments of the start that have passed.
    `began_as` is the flow with the settings that the run began with, `taken` what of them was changed since;
    `on_settings` is called then. `usage` is what the host says about the flow (`host.Host`). `shown_s`
    is when the progress was written last, `seen` what it depended on, `surveyed` what was made of the newest
    survey.
    """

    flow: FlowSpec
    run_dir: Path
    control: ControlFile
    topic_ids: dict[str, str] = field(default_factory=dict)
    reset_topics: frozenset[str] = frozenset()
    progress: ProgressTable = field(default_factory=ProgressTable)
    topic_sync: TopicSyncSchedule = field(default_factory=TopicSyncSchedule)
    checkpoints: Callable[[], Row | None] = lambda: None
    on_settings: Callable[[], None] = lambda: None
    usage: Callable[[], Row] = dict
    survey: Preflight | None = None
    given_up: set[TopicPartition] = field(default_factory=set)
    recreated: set[str] = field(default_factory=set)
    ends: dict[TopicPartition, int] | None = None
    unknown_ends: set[TopicPartition] = field(default_factory=set)
    restarts: int = 0
    crashes: deque[int] = field(default_factory=lambda: deque(maxlen=MOST_CRASHES))
    moves: int = 0
    message: str = "Starting."
    fault: str = ""
    stages: dict[str, int] = field(default_factory=lambda: {DRIVER_STARTED: _now_ms()})
    began_s: float = field(default_factory=time.monotonic)
    began_as: FlowSpec | None = None
    taken: Mapping[str, Any] = field(default_factory=dict)
    shown_s: float = 0.0
    seen: tuple[object, ...] = ()
    surveyed: tuple[tuple[object, object], Row] | None = None

    def resume(self, progress: Mapping[str, Any]) -> None:
        """Continue a run that another engine had: its counts, and the topics' ids that it had accepted."""
        self.progress.resume(progress["partitions"])
        found = {name: row["topic_id"] for name, row in progress["topics"].items()}
        self.topic_ids |= {name: topic_id for name, topic_id in found.items() if topic_id}
        self.reset_topics = frozenset()
        self.restarts, self.moves = progress["restarts"], progress["moves"]
        self.crashes.extend(progress["crashes"])
        self.stages = dict(progress["stages"])
        self.began_s -= (_now_ms() - self.stages[DRIVER_STARTED]) / 1000

    def begin(self, survey: Preflight) -> None:
        """Restart with a survey: partitions that failed in this run stay as they are."""
        self._take(survey)
        self.stages.setdefault(SURVEYED, _now_ms())
        self.fault = ""
        failed = {where_of(row): row for row in self.progress.failed()}
        planned = {start.where for start in survey.plan.starts}
        self.given_up = {w for w in planned & failed.keys() if w.topic not in self.recreated}
        self.recreated = set()
        starts = [progress_of(s) for s in survey.plan.starts if s.where not in self.given_up]
        rows = [values_of(row) for row in [*starts, *survey.plan.refused]]
        self.progress.start([*rows, *(failed[where] for where in self.given_up)])
        self.progress.know_ends(known_ends(survey), time.monotonic())

    def see(self, survey: Preflight) -> None:
        """Take a survey that was made while the flow runs."""
        self._take(survey)
        self.progress.know_ends(known_ends(survey), time.monotonic())

    def _take(self, survey: Preflight) -> None:
        self.survey = survey
        self.topic_ids = dict(survey.plan.topic_ids)
        self.reset_topics = frozenset()
        self.message = (
            f"Replicating {len(survey.plan.starts)} partitions of {len(survey.topics)} topics."
            if survey.plan.starts
            else "No partition can be replicated: check the reasons, or the flow's filters."
        )

    def restart(self, message: str) -> None:
        """Count a restart, of one task or of all, that was not requested; `message` says why."""
        self.restarts += 1
        self.crashes.append(time.time_ns() // 1_000_000)
        self.message = message

    def lose(self, task: int, why: str, *, is_moved: bool) -> None:
        """Note that a task is gone: `is_moved` to another slot, else for no good reason."""
        if is_moved:
            self.moves += 1
            self.message = f"Task {task} moves to another slot."
        else:
            self.restart(f"Task {task} exited unexpectedly and is restarted: {why}")

    def take_settings(self) -> bool:
        """Take over the settings that are requested now; returns whether one of them is new."""
        asked = self.control.control.settings
        if asked == self.taken:
            return False
        self.taken = asked
        try:
            changed = with_settings(self.began_as or self.flow, asked)
        except InvalidFields as error:
            told = "; ".join(f"{name}: {text}" for name, text in error.errors.items())
            self.control.problem = f"The changed settings are not valid: {told}"
            return False
        self.began_as = self.began_as or self.flow
        self.flow = changed
        return True

    def end_here(self, survey: Preflight) -> None:
        """Let the run end at the offsets that the source has now; what is unknown is filled in later."""
        if self.ends is None:
            self.ends = {}
            self.unknown_ends = set(survey.ranges)
            self.progress.ends = self.ends
        found = known_ends(survey)
        for where in self.unknown_ends & found.keys():
            self.ends[where] = found[where]
        self.unknown_ends -= found.keys()

    @property
    def is_done(self) -> bool:
        """Whether everything that the run is to copy is copied, or cannot be."""
        return (
            self.ends is not None
            and not self.unknown_ends
            and self.progress.is_finished(self.ends, time.monotonic())
        )

    def limit_bytes_per_s(self) -> int | None:
        """Return the limit of the whole flow: what is requested now, else its own setting."""
        control = self.control.control
        return control.limit_bytes_per_s if control.has_limit else self.flow.max_bytes_per_s

    def show(
        self,
        tasks: Sequence[Row] = (),
        owners: Mapping[TopicPartition, int] | None = None,
        now_s: float | None = None,
    ) -> None:
        """Write `progress.json`; at `now_s` (a monotonic clock) only if it is due.

        That is when something has changed, less often when it is large, and at times when nothing has.
        """
        is_due, now_s = now_s is None, now_s or time.monotonic()
        rows = self.progress.rows(now_s)
        self._pass_stages(rows)
        told = self._told(tasks)
        seen = (told, owners, self.progress.version)
        age_s = now_s - self.shown_s
        is_due |= age_s >= UNCHANGED_S or (seen != self.seen and age_s >= len(rows) / ROWS_PER_S)
        if not is_due:
            return
        self.seen, self.shown_s = seen, now_s
        loads: dict[int | None, list[float]] = {}
        for row in rows:
            row["task"] = (owners or {}).get(where_of(row))
            loads.setdefault(row["task"], []).append(row["bytes_per_s"])
        progress = {
            "at_ms": _now_ms(),
            **told,
            "eta_s": self.progress.eta_s(now_s),
            "engine": self.usage(),
            "tasks": [_with_load(task, loads.get(task["task"], [])) for task in tasks],
            "partitions": rows,
        }
        contract.write_progress(self.run_dir, progress)

    def _told(self, tasks: Sequence[Row]) -> Row:
        """Return what is shown beside partitions and loads."""
        return {
            "tasks": list(tasks),
            "stages": dict(self.stages),
            "message": self.message,
            "surveyed": self.survey is not None,
            "fault": self.fault,
            "restarts": self.restarts,
            "crashes": list(self.crashes),
            "moves": self.moves,
            "control": {
                "problem": self.control.problem,
                "restart_token": self.control.control.restart_token,
            },
            "checkpoints": self.checkpoints(),
            **self._of_survey(),
        }

    def _pass_stages(self, rows: Iterable[Row]) -> None:
        """Note when a task first reported, and when the first record was replicated."""
        if FIRST_RECORD in self.stages:
            return
        for row in rows:
            if row["state"] in _WITH_A_TASK:
                self.stages.setdefault(TASKS_STARTED, _now_ms())
            if row["records"]:
                self.stages.setdefault(FIRST_RECORD, _now_ms())

    def _of_survey(self) -> Row:
        """Return what only a survey changes."""
        by = (self.survey, self.topic_sync.last)
        if self.surveyed is None or any(
            a is not b for a, b in zip(by, self.surveyed[0], strict=True)
        ):
            found = {"topics": self._topics(), "topic_sync": self.topic_sync.to_mapping()}
            self.surveyed = (by, found)
        return self.surveyed[1]

    def _topics(self) -> dict[str, Row]:
        topics = self.survey.topics if self.survey else ()
        places = self.survey.places if self.survey else {}
        return {
            topic.name: {
                "topic_id": self.topic_ids.get(topic.name),
                "remote_topic": place.remote_topic if place else None,
                "partitions": len(topic.partitions),
                "problem": place.problem if place else None,
            }
            for topic in topics
            for place in [places.get(topic.name)]
        }

    def summary(self) -> Row:
        """Return what is in the result: counts of the whole run."""
        rows = self.progress.rows(time.monotonic())
        return {
            "records": sum(row["records"] for row in rows),
            "bytes": sum(row["bytes"] for row in rows),
            "seconds": round(time.monotonic() - self.began_s, 3),
            "partitions": len(rows),
            "partitions_failed": len(self.progress.failed()),
            "restarts": self.restarts,
            "moves": self.moves,
        }


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def progress_of(start: PartitionStart) -> PartitionProgress:
    """Return what is shown of a partition that is about to begin."""
    return PartitionProgress(start.topic, start.partition, start.position)


def known_ends(survey: Preflight) -> dict[TopicPartition, int]:
    """Return where the source ends (read_committed), where it said so."""
    return {w: r.end_offset for w, r in survey.ranges.items() if r.end_offset is not None}


def seen_ids(survey: Preflight) -> dict[str, str]:
    """Return the ids that topics have on the source now; the plan's own are those that are accepted."""
    return {topic.name: topic.topic_id for topic in survey.topics if topic.topic_id}


def _with_load(task: Row, loads: Sequence[float]) -> Row:
    return {**task, "partitions": len(loads), "bytes_per_s": round(sum(loads), 3)}
