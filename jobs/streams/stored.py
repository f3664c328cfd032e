"""Applications and facts as compact values that a database keeps, and back.

What is packed is JSON, compressed. Threads name tasks and routes name partitions by their texts, so that a
row stays readable; `FORM` changes when the form does, and rows of another form are not read.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.streams.application import (
    Application,
    Confidence,
    Protocol,
    Route,
    Store,
    Subtopology,
    TaskId,
    TasksByRole,
    Thread,
)
from jobs.streams.observation import Facts, TopicFacts

FORM = 1
_LEVEL = 6
_PARTS = ("starts", "ends", "newest_ms", "sizes")


class OtherForm(ValueError):
    """What was stored is of another form than this version of crosslog reads."""


def pack_application(application: Application) -> bytes:
    """Return an application as bytes for `unpack_application`."""
    return _packed(
        {
            "application_id": application.application_id,
            "protocol": application.protocol,
            "state": application.state,
            "observed_at_ms": application.observed_at_ms,
            "generation": application.generation,
            "next_rebalance_ms": application.next_rebalance_ms,
            "cautions": application.cautions,
            "left_out": application.left_out,
            **_placed(application),
        }
    )


def unpack_application(content: bytes) -> Application:
    """Return the application that was packed; raises `OtherForm`."""
    told = _unpacked(content)
    routes = told["routes"]
    return Application(
        told["application_id"],
        Protocol(told["protocol"]),
        told["state"],
        told["observed_at_ms"],
        tuple(_thread(one) for one in told["threads"]),
        {name: _subtopology(name, one) for name, one in told["subtopologies"].items()},
        {_task(name): _places(own) for name, own in told["tasks"].items()},
        {name: _store(name, one) for name, one in told["stores"].items()},
        None
        if routes is None
        else tuple(
            Route(name, frozenset(_places(a)), frozenset(_places(s))) for name, a, s in routes
        ),
        told["topic_partitions"],
        told["generation"],
        told["next_rebalance_ms"],
        tuple(told["cautions"]),
        # Rows of earlier versions do not have it.
        tuple(told.get("left_out", ())),
    )


def fingerprint_of(application: Application) -> str:
    """Return what is the same while no member joins, leaves or gets another task.

    How far copies are does not count: members of streams groups may tell that all the time.
    """
    placed = _placed(application)
    for one in placed["threads"]:
        del one["offset_sums"]
    content = json.dumps(placed, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(content.encode()).hexdigest()


def pack_facts(facts: Facts) -> bytes:
    """Return facts as bytes for `unpack_facts`."""
    topics = {
        name: [
            one.partitions,
            *(_pairs(getattr(one, part)) for part in _PARTS),
            dict(one.settings),
            one.replicas,
        ]
        for name, one in sorted(facts.topics.items())
    }
    committed = [
        [place.topic, place.partition, one.offset, one.metadata]
        for place, one in sorted(facts.committed.items())
    ]
    return _packed(
        {"observed_at_ms": facts.observed_at_ms, "topics": topics, "committed": committed}
    )


def unpack_facts(content: bytes) -> Facts:
    """Return the facts that were packed; raises `OtherForm`."""
    told = _unpacked(content)
    return Facts(
        told["observed_at_ms"],
        {
            # Rows of earlier versions do not have the number of replicas.
            name: TopicFacts(
                count, dict(starts), dict(ends), dict(newest), dict(sizes), settings, *replicas
            )
            for name, (count, starts, ends, newest, sizes, settings, *replicas) in told[
                "topics"
            ].items()
        },
        {
            TopicPartition(topic, number): CommittedOffset(offset, metadata)
            for topic, number, offset, metadata in told["committed"]
        },
    )


def _placed(application: Application) -> dict[str, Any]:
    """Return what a rebalance changes, and a new topology."""
    routes = application.routes
    return {
        "threads": [_thread_told(one) for one in application.threads],
        "subtopologies": {
            name: [one.source_topics, one.partitions, one.is_stateful, one.sink_topics]
            for name, one in application.subtopologies.items()
        },
        "tasks": {str(task): _places_told(own) for task, own in application.tasks.items()},
        # What is kept was seen without a description, which alone tells what feeds a store.
        "stores": {
            n: _plain(one, "name", "is_fed_by_all") for n, one in application.stores.items()
        },
        "routes": None
        if routes is None
        else [
            [one.endpoint, _places_told(one.active), _places_told(one.standby)] for one in routes
        ],
        "topic_partitions": dict(sorted(application.topic_partitions.items())),
    }


def _packed(value: Mapping[str, Any]) -> bytes:
    return zlib.compress(
        json.dumps({"form": FORM, **value}, separators=(",", ":")).encode(), _LEVEL
    )


def _unpacked(content: bytes) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(zlib.decompress(content))
    if told.get("form") != FORM:
        raise OtherForm(f"It was stored in form {told.get('form')}; this version reads {FORM}.")
    return told


def _plain(value: Any, *without: str) -> dict[str, Any]:
    return {one.name: getattr(value, one.name) for one in fields(value) if one.name not in without}


def _thread_told(one: Thread) -> dict[str, Any]:
    told = _plain(one)
    told["now"] = [[str(task) for task in own] for own in one.now]
    told["target"] = (
        None if one.target is None else [[str(task) for task in own] for own in one.target]
    )
    told["offset_sums"] = {str(task): total for task, total in sorted(one.offset_sums.items())}
    told["tags"] = dict(sorted(one.tags.items()))
    return told


def _thread(told: dict[str, Any]) -> Thread:
    told["now"] = _roles(told["now"])
    told["target"] = None if told["target"] is None else _roles(told["target"])
    told["offset_sums"] = {_task(name): total for name, total in told["offset_sums"].items()}
    return Thread(**told)


def _roles(told: Iterable[Iterable[str]]) -> TasksByRole:
    return TasksByRole(*(tuple(_task(name) for name in own) for own in told))


def _task(name: str) -> TaskId:
    subtopology, _, partition = name.rpartition("_")
    return TaskId(subtopology, int(partition))


def _subtopology(name: str, told: list[Any]) -> Subtopology:
    sources, partitions, is_stateful, sinks = told
    return Subtopology(
        name, tuple(sources), partitions, is_stateful, None if sinks is None else tuple(sinks)
    )


def _store(name: str, told: dict[str, Any]) -> Store:
    return Store(
        name,
        tuple(told["candidates"]),
        Confidence(told["confidence"]),
        told["reason"],
        tuple(told["source_topics"]),
        told["changelog"],
        told["kind"],
        told["is_global"],
    )


def _places_told(places: Iterable[TopicPartition]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for one in sorted(places):
        found.setdefault(one.topic, []).append(one.partition)
    return found


def _places(told: Mapping[str, Iterable[int]]) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(topic, number) for topic, own in told.items() for number in own)


def _pairs(numbers: Mapping[int, int]) -> list[tuple[int, int]]:
    return sorted(numbers.items())
