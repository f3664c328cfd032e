"""An application, its answers and its lag as plain values: what the command prints and REST answers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from jobs.cluster.descriptions import TopicPartition
from jobs.streams.answers import KeyAnswer, ProcessAnswer, all_metadata
from jobs.streams.application import Application, Placement, Process, Role, Store, TaskId, Thread
from jobs.streams.lag import (
    NOT_KEPT,
    InputLag,
    input_lags,
    restore_costs,
    standby_lags,
    states_of_tasks,
)
from jobs.streams.metadata_state import MetadataState, NotKnowable, metadata_state
from jobs.streams.observation import Facts


def application_mapping(
    application: Application, facts: Facts, joined: Facts = NOT_KEPT
) -> dict[str, Any]:
    """Return an application with its lag.

    `joined` are the changelogs when its last rebalance was first seen (`changelogs_of`): what copies lacked
    is given as of then, and of now only where no copy counts.
    """
    states, then = states_of_tasks(application, facts), states_of_tasks(application, joined)
    standby = standby_lags(application, joined)
    bounds = {one.process.process_id: one for one in restore_costs(application, then, standby)}
    as_of_ms = joined.observed_at_ms or None
    return {
        "application": application.application_id,
        "protocol": application.protocol.value,
        "state": application.state,
        "observed_at_ms": application.observed_at_ms,
        "generation": application.generation,
        "next_rebalance_ms": application.next_rebalance_ms,
        "processes": [_process(one, application) for one in application.processes],
        "subtopologies": [
            {
                "subtopology": one.subtopology,
                "source_topics": list(one.source_topics),
                "sink_topics": None if one.sink_topics is None else list(one.sink_topics),
                "tasks": one.partitions,
                "stateful": one.is_stateful,
            }
            for one in application.subtopologies.values()
        ],
        "stores": [store_mapping(one) for one in application.stores.values()],
        "metadata": [process_answer_mapping(one) for one in all_metadata(application)],
        "application_answers": _jvm(metadata_state(application)),
        "standby_lag_at_join": [
            {
                "task": str(one.task),
                "member_id": one.member_id,
                "role": one.role.value,
                "position_sum": one.position_sum,
                "records": one.records,
                "as_of_ms": as_of_ms,
            }
            for one in standby
        ],
        "restore": [
            {
                "process_id": one.process.process_id,
                "place": one.process.place,
                "stateful_tasks": one.tasks,
                "without_copy": [str(task) for task in one.without_copy],
                "records": one.records,
                "records_at_rebalance": bounds[one.process.process_id].records,
                "as_of_ms": as_of_ms,
                "bytes": one.size_bytes,
            }
            for one in restore_costs(application, states)
        ],
        "cautions": list(application.cautions),
        "left_out": list(application.left_out),
    }


def task_mappings(
    application: Application, facts: Facts, tasks: Sequence[TaskId] | None = None
) -> list[dict[str, Any]]:
    """Return tasks (None: all) with who has them, their lag and the size of their state."""
    asked = list(application.placements) if tasks is None else tasks
    part = replace(application, tasks={task: application.tasks.get(task, ()) for task in asked})
    lags, states = input_lags(part, facts), states_of_tasks(part, facts)
    return [
        {
            "task": str(task),
            "subtopology": task.subtopology,
            "partitions": places(part.tasks[task]),
            "placements": [placement_mapping(one) for one in application.placements[task]],
            "input": [_input(one) for one in lags.get(task, ())],
            "changelog_records": states[task].records if task in states else None,
            "changelog_bytes": states[task].size_bytes if task in states else None,
        }
        for task in asked
    ]


def key_answer_mapping(answer: KeyAnswer) -> dict[str, Any]:
    """Return where a key is, with the evidence and what the application answers."""
    jvm = answer.jvm
    return {
        "store": answer.store.name,
        "key_hex": answer.key.hex(),
        "partition": answer.partition,
        "partitions": answer.partitions,
        "task": None if answer.task is None else str(answer.task),
        "is_global": answer.store.is_global,
        "possible": [
            {
                "partition": one.partition,
                "task": None if one.task is None else str(one.task),
                "topics": list(one.topics),
                "place": None if one.holder is None else one.holder.place,
            }
            for one in answer.possible
        ],
        "active": None if answer.active is None else placement_mapping(answer.active),
        "standby": [
            placement_mapping(one) for one in answer.placements if one.role is not Role.ACTIVE
        ],
        "evidence": list(answer.evidence),
        "cautions": list(answer.cautions),
        "application_answers": {
            "active": None if jvm.answer is None else jvm.answer.active,
            "standby": None if jvm.answer is None else sorted(jvm.answer.standby),
            "partition": None if jvm.answer is None else jvm.answer.partition,
            "is_right": jvm.is_right,
            "reason": jvm.reason,
            "misrouted_share": jvm.misrouted,
        },
    }


def process_answer_mapping(one: ProcessAnswer) -> dict[str, Any]:
    """Return what a process has, as KIP-67's StreamsMetadata."""
    return {
        "process_id": one.process.process_id,
        "endpoint": one.process.endpoint,
        "place": one.process.place,
        "partitions": places(one.partitions),
        "stores": sorted(one.stores),
        "standby_partitions": places(one.standby_partitions),
        "standby_stores": sorted(one.standby_stores),
    }


def store_mapping(one: Store) -> dict[str, Any]:
    return {
        "store": one.name,
        "subtopology": one.subtopology,
        "candidates": list(one.candidates),
        "confidence": one.confidence.value,
        "reason": one.reason,
        "source_topics": list(one.source_topics),
        "changelog": one.changelog,
        "kind": one.kind,
        "is_global": one.is_global,
    }


def placement_mapping(one: Placement) -> dict[str, Any]:
    """Return who has a task."""
    return {
        "role": one.role.value,
        "process_id": one.process.process_id,
        "endpoint": one.process.endpoint,
        "place": one.process.place,
        "thread": one.thread.client_id,
    }


def places(them: Collection[TopicPartition]) -> list[str]:
    """Return partitions as texts, sorted."""
    return [str(one) for one in sorted(them)]


def _process(one: Process, application: Application) -> dict[str, Any]:
    return {
        "process_id": one.process_id,
        "endpoint": one.endpoint,
        "client_host": one.client_host,
        "rack": next((thread.rack for thread in one.threads if thread.rack), None),
        "tags": dict(one.threads[0].tags),
        "threads": [_thread(thread) for thread in one.threads],
    }


def _thread(one: Thread) -> dict[str, Any]:
    return {
        "member_id": one.member_id,
        "client_id": one.client_id,
        "instance_id": one.instance_id,
        "active": [str(task) for task in one.now.active],
        "standby": [str(task) for task in one.now.standby],
        "warm_up": [str(task) for task in one.now.warm_up],
        "target": None
        if one.target is None
        else [[role.value, str(task)] for role, task in one.target.with_roles()],
        "version": one.version,
        "latest_version": one.latest_version,
        "joins": one.joins,
        "member_epoch": one.member_epoch,
        "error_code": one.error_code,
        "problem": one.problem,
    }


def _input(one: InputLag) -> dict[str, Any]:
    return {
        "partition": str(one.place),
        "committed": one.committed,
        "end": one.end,
        "lag_records": one.records,
        "lag_at_most_ms": one.at_most_ms,
        "stream_time_ms": one.stream_time_ms,
        "event_time_lag_ms": one.event_time_ms,
        "window_close_ms": one.window_close_ms,
    }


def _jvm(state: MetadataState | NotKnowable) -> dict[str, Any]:
    if isinstance(state, NotKnowable):
        return {"metadata": None, "reason": state.reason}
    return {
        "metadata": [
            {
                "endpoint": one.endpoint,
                "partitions": places(one.partitions),
                "stores": sorted(one.stores),
                "standby_partitions": places(one.standby_partitions),
                "standby_stores": sorted(one.standby_stores),
            }
            for one in state.all()
        ],
        "reason": "",
    }
