"""`crosslog streams`: Kafka Streams applications from a capture, a group log or a cluster; where a key is."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.errors import ClusterFault, InvalidFields
from jobs.cluster.group_members import StreamsGroup
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.settings_file import parse_settings, read_text
from jobs.commands import command
from jobs.numbers import format_least, sum_of
from jobs.streams.answers import KeyAnswer, NoSuchStore, metadata_for_key, metadata_for_store
from jobs.streams.application import Application
from jobs.streams.assembly import application_of, fitting
from jobs.streams.audit.conditions import Seen
from jobs.streams.audit.rules import conditions_now
from jobs.streams.balance.advice import advice_on, balance_lines, balance_mapping
from jobs.streams.balance.load import balance_of
from jobs.streams.collection.applications import find_applications, observe
from jobs.streams.collection.capture import BadCapture, read_capture
from jobs.streams.collection.changelog_search import ChangelogSearch, key_in_changelog, search_for
from jobs.streams.documents import (
    application_mapping,
    key_answer_mapping,
    process_answer_mapping,
    task_mappings,
)
from jobs.streams.endpoints import names_in, resolved
from jobs.streams.keys import BadKey, KeyFormat, key_bytes
from jobs.streams.lookup.own_answer import worst_misrouted_share
from jobs.streams.observation import Observation
from jobs.streams.probes import endpoints_of, probe_endpoints
from jobs.streams.topology.described import DescribedTopology
from jobs.streams.topology.from_broker import broker_text, read_broker_text
from jobs.streams.topology.graph import dot_of, graph_of_application, graph_of_description
from jobs.streams.topology.reading import DescriptionError, read_description
from jobs.wire.batches.hashes import Partitioner

_BUDGET_S, _NAMES_S = 30.0, 3.0


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns its exit code."""
    try:
        _check(arguments)
        description = _description(arguments.topology)
        key = None
        if arguments.key is not None:
            key = key_bytes(arguments.key, KeyFormat(arguments.key_format))
        seen = _chosen(_observations(arguments), arguments)
        found = _applications(seen, description, asks_names=not _is_capture(arguments.path))
        if description is not None:
            _refuse_other(found, description, arguments.topology)
        if arguments.dot:
            return _print_dot(found, description)
        told = [_told(application, one, arguments, key) for application, one in found]
    except (OSError, BadCapture, BadKey, _BadRequest) as error:
        return command.refuse(
            error, arguments.path if isinstance(error, BadCapture | OSError) else None
        )
    except InvalidFields as error:
        return command.refuse(error, arguments.path)
    except (NoSuchStore, ClusterFault) as error:
        return command.say(error)
    lines = (line for one in told for line in _lines(one))
    command.print_answer(arguments, lambda: {"applications": told}, lines)
    return command.FINDING if any(_is_wrong(one) for one in told) else command.OK


class _BadRequest(ValueError):
    """Arguments that do not fit together."""


def _check(arguments: argparse.Namespace) -> None:
    if arguments.key is not None and arguments.store is None:
        raise _BadRequest("--key needs --store: a key is served by the holder of its store")
    if arguments.changelog and (arguments.key is None or _is_capture(arguments.path)):
        raise _BadRequest("--changelog needs --key and the connection to a cluster")


def _description(path: Path | None) -> DescribedTopology | None:
    if path is None:
        return None
    try:
        return read_description(read_text(path, "topology"))
    except InvalidFields as error:
        raise _BadRequest(f"{path}: {' '.join(error.errors.values())}") from None
    except DescriptionError as error:
        raise _BadRequest(f"{path}: {error}") from None


def _applications(
    seen: Sequence[Observation], description: DescribedTopology | None, *, asks_names: bool
) -> list[tuple[Application, Observation]]:
    """Return the applications; the names of their endpoints are requested where they were just seen."""
    used = [(one, _used(one, description)) for one in seen]
    found = [(application_of(*one), one[0]) for one in used]
    names = {name for one, _ in found for name in names_in(one)} if asks_names else ()
    known = resolved(names, _NAMES_S)
    if all(known.values()):
        return found
    return [(application_of(*one, known.get), one[0]) for one in used]


def _used(seen: Observation, pasted: DescribedTopology | None) -> DescribedTopology | None:
    """Return the description that the broker has, else the one of the file."""
    group = seen.group
    text, why = broker_text(group) if isinstance(group, StreamsGroup) else ("", "")
    if text and pasted is not None:
        why = "The broker has a description: --topology is not used."
    if why:
        command.say(f"{group.group_id}: {why}")
    return read_broker_text(text) or pasted


def _refuse_other(
    found: Sequence[tuple[Application, Observation]], description: DescribedTopology, path: Path
) -> None:
    """Refuse a description that has no topic in common with any of the applications."""
    fits = {a.application_id: fitting(a, seen.facts, description)[1] for a, seen in found}
    if fits and all(one.is_other for one in fits.values()):
        told = " ".join(f"{name}: {' '.join(one.problems)}" for name, one in fits.items())
        raise _BadRequest(f"{path}: It is the description of another application. {told}")


def _observations(arguments: argparse.Namespace) -> Sequence[Observation]:
    if _is_capture(arguments.path):
        return read_capture(arguments.path)
    return asyncio.run(_asked(_connection(arguments.path), arguments.application))


def _is_capture(path: Path) -> bool:
    return path.suffix == ".json"


def _connection(path: Path) -> Connection:
    form = "It is no mapping of settings of a connection."
    return Connection.from_mapping(parse_settings(read_text(path, "connection"), form))


async def _asked(connection: Connection, application: str | None) -> Sequence[Observation]:
    now_ms = int(time.time() * 1000)
    async with RawCluster(connection, client_id="streams") as cluster:
        found = await find_applications(
            cluster, known=[application] if application else (), budget_s=_BUDGET_S
        )
        for name, fault in found.faults.items():
            command.say(f"{name}: {fault}")
        names = [one for one in found.groups if application in (None, one)]
        return [
            await observe(cluster, found, one, now_ms=now_ms, budget_s=_BUDGET_S) for one in names
        ]


def _chosen(seen: Sequence[Observation], arguments: argparse.Namespace) -> list[Observation]:
    chosen = [one for one in seen if arguments.application in (None, one.group.group_id)]
    wanted = arguments.application or ("with a store" if arguments.store else "")
    if wanted and not chosen:
        there = ", ".join(one.group.group_id for one in seen) or "none"
        raise _BadRequest(f"There is no Kafka Streams application {wanted} (seen: {there})")
    return chosen


def _told(
    application: Application, seen: Observation, arguments: argparse.Namespace, key: bytes | None
) -> dict[str, Any]:
    facts = seen.facts
    told = application_mapping(application, facts) | {"tasks": task_mappings(application, facts)}
    if arguments.balance:
        balance = balance_of(application, facts)
        told["balance"] = balance_mapping(balance, advice_on(application, balance))
    if arguments.probe:
        probes = probe_endpoints(endpoints_of(application))
        told["probes"] = [one.to_mapping() for one in probes]
    misrouted = worst_misrouted_share(application)
    told["findings"] = conditions_now(Seen(application, facts, misrouted=misrouted))
    if arguments.store is not None:
        told["for_store"] = [
            process_answer_mapping(one) for one in metadata_for_store(application, arguments.store)
        ]
    if key is not None:
        by = Partitioner(arguments.partitioner)
        answer = metadata_for_key(application, arguments.store, key, partitioner=by)
        search = _searched(application, answer, arguments.path) if arguments.changelog else None
        if search is not None:
            answer = metadata_for_key(application, arguments.store, key, search.seen, by)
        told["for_key"] = key_answer_mapping(answer)
        if arguments.changelog:
            told["for_key"]["changelog"] = None if search is None else _search_told(search)
    return told


def _print_dot(
    found: Sequence[tuple[Application, Observation]], description: DescribedTopology | None
) -> int:
    for application, seen in found:
        graph = graph_of_application(application)
        used = _used(seen, description)
        if used is not None:
            full, fit = fitting(application, seen.facts, used)
            if fit.problems:
                command.say(f"{application.application_id}: {fit.caution}")
            else:
                graph = graph_of_description(full)
        sys.stdout.write(dot_of(graph))
    return command.OK


def _searched(application: Application, answer: KeyAnswer, path: Path) -> ChangelogSearch | None:
    """Return where the changelog has the key; None for a store without one that is seen."""
    asked = search_for(application, answer)
    if asked is None:
        return None
    with ClusterClient(_connection(path)) as client:
        return key_in_changelog(client, *asked, budget_s=_BUDGET_S)


def _search_told(search: ChangelogSearch) -> dict[str, Any]:
    told = asdict(search)
    for hit in told["hits"]:
        hit["key_hex"] = hit.pop("key").hex()
    return told


def _is_wrong(told: dict[str, Any]) -> bool:
    return told.get("for_key", {}).get("application_answers", {}).get("is_right") is False


def _lines(told: dict[str, Any]) -> Iterator[str]:
    generation = "" if told["generation"] is None else f", generation {told['generation']}"
    yield f"{told['application']}  {told['protocol']} protocol, {told['state']}{generation}"
    yield from (f"  Note: {one}" for one in (*told["left_out"], *told["cautions"]))
    yield from (f"  {one['severity'].capitalize()}: {one['sentence']}" for one in told["findings"])
    yield from _process_lines(told)
    yield "stores"
    for one in told["stores"]:
        where = one["subtopology"] or " or ".join(one["candidates"]) or "every process"
        yield f"  {one['store']}  in {where}  ({one['confidence']})"
    yield "tasks"
    for one in told["tasks"]:
        placed = "  ".join(f"{at['role']} {at['place']}" for at in one["placements"]) or (
            "not known" if told["left_out"] else "no thread"
        )
        lag = sum_of(at["lag_records"] for at in one["input"])
        told_lag = "" if lag.value is None else f"  lag {format_least(*lag)}"
        yield f"  {one['task']}  {placed}{told_lag}"
    if told["application_answers"]["reason"]:
        yield f"Own answers not known: {told['application_answers']['reason']}"
    yield from balance_lines(told["balance"]) if "balance" in told else ()
    for one in told.get("probes", ()):
        took = "" if one["took_ms"] is None else f" in {one['took_ms']} ms"
        at = f"{one['answer']}{took} {one['reason']}".rstrip()
        yield f"probe {one['endpoint']}  {one['address'] or 'not probed'}  {at}"
    if "for_store" in told:
        yield "has the store"
        for one in told["for_store"]:
            yield f"  {one['place']}"
    if "for_key" in told:
        yield from _key_lines(told["for_key"])


def _process_lines(told: dict[str, Any]) -> Iterator[str]:
    yield f"{len(told['processes'])} processes"
    restore = {one["process_id"]: one for one in told["restore"]}
    for one in told["processes"]:
        is_read = not all(thread["problem"] for thread in one["threads"])
        none = "no application.server" if is_read else "application.server not known"
        where = one["endpoint"] or f"{one['client_host']}, {none}"
        alone = restore.get(one["process_id"], {}).get("without_copy")
        lost = f", {len(alone)} tasks without a copy" if alone else ""
        yield f"  {where}  {len(one['threads'])} threads{lost}"
        for thread in one["threads"]:
            if thread["problem"]:
                yield f"    {thread['client_id']}: {thread['problem']}"


def _place_lines(told: dict[str, Any]) -> Iterator[str]:
    if told["is_global"]:
        yield "  served by every process"
        return
    word = "" if len(told["possible"]) == 1 else "possibly "
    for one in told["possible"]:
        yield f"  {word}partition {one['partition']}, task {one['task'] or 'not known'}"
        place = one["place"] or ("no thread" if one["task"] else "a thread that is not known")
        yield f"  {word}served by {place}"
    if not told["possible"]:
        yield "  partition and task not known"


def _key_lines(told: dict[str, Any]) -> Iterator[str]:
    yield f"key {told['key_hex']} of {told['store']}"
    yield from _place_lines(told)
    yield from (f"  {one['role']} {one['place']}" for one in told["standby"])
    own = told["application_answers"]
    if own["active"] is not None:
        verdict = {True: "right", False: "wrong", None: "not known"}[own["is_right"]]
        yield f"  the application answers {own['active']}: {verdict}. {own['reason']}".rstrip()
    elif own["is_right"]:
        yield f"  the application answers any host that runs: right. {own['reason']}"
    else:
        yield f"  what the application answers is not known: {own['reason']}"
    yield from (f"  {one}" for one in (*told["evidence"], *told["cautions"]))
    for one in (told.get("changelog") or {}).get("hits", ()):
        deleted = ", deleted" if one["value_bytes"] is None else ""
        yield f"  in the changelog: partition {one['partition']}, offset {one['offset']}{deleted}"
    if told.get("changelog", {}) is None:
        yield f"  {told['store']} has no changelog that is seen"
    if told.get("changelog") and not told["changelog"]["hits"]:
        yield f"  not in the changelog. Not read: {told['changelog']['unread']} {told['changelog']['reason']}"
