"""Rules about the routing of an application: whether its own metadata names who serves a key. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from jobs.checks.check import Check, Unit, check
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.network_addresses import host_address, is_any_address, is_loopback_host
from jobs.severity import Severity
from jobs.streams.application import Process, Protocol
from jobs.streams.audit.conditions import (
    Condition,
    Seen,
    lasts,
    listed,
    most,
    some,
    streams_check,
    unknown,
)
from jobs.streams.endpoints import FaultKind, host_and_port, tells_endpoint
from jobs.streams.metadata_state import UNAVAILABLE, MetadataState

# fmt: off
MISROUTED = streams_check("streams_keys_misrouted", "Kafka Streams keys misrouted",
    "Does the application's own metadata name the instance that serves a key?",
    "The share of keys for which queryMetadataForKey names another instance or partition, computed from "
    "the routing that the members carry, is above the threshold. Not judged while that routing is not known.",
    severity=Severity.CRITICAL, effect="{misrouted_percent} % of keys misrouted",
    runbook="Give every instance an application.server of its own that the others can reach. An open finding "
    "about application.server names the instances that cause it.",
    thresholds=(lasts(120), most(0, Unit.PERCENT, "Share of keys, in the worst store.", most=100)))
MISSING = streams_check("streams_endpoint_missing", "Kafka Streams endpoint missing",
    "Does every instance have an application.server, or none?",
    "Some instances have an application.server and others do not (KAFKA-20886). Not judged where the bytes "
    "of an instance cannot be read.", severity=Severity.CRITICAL, effect="application.server missing",
    runbook="Set application.server on the instances that the finding names, and restart them. Until then "
    "do not route queries by queryMetadataForKey.", thresholds=(lasts(60),))
SHARED = streams_check("streams_endpoint_shared", "Kafka Streams endpoint shared",
    "Does every instance have an application.server of its own?",
    "Instances with different process ids have one host and port.", severity=Severity.CRITICAL,
    effect="application.server shared", thresholds=(lasts(60),),
    runbook="Give each instance its own host and port: requests for all of them reach one.")
UNREACHABLE = streams_check("streams_endpoint_unreachable", "Kafka Streams endpoint not reachable",
    "Can other machines reach each application.server?",
    "An application.server is loopback or 0.0.0.0 while instances have several addresses, or names no port. "
    "crosslog does not connect to it.", effect="application.server not reachable", thresholds=(lasts(60),),
    runbook="Set a host and port at which the other instances reach the instance.")
ELSEWHERE = streams_check("streams_endpoint_elsewhere", "Kafka Streams endpoint elsewhere",
    "Is each application.server the address from which its instance is connected?",
    "An application.server is an IP address, and the broker sees its instance at another one.",
    is_advice=True, runbook="Network address translation and several network interfaces have this effect, "
    "too. Check that the address is that of the instance.", severity=Severity.INFO)
ROUTED_ELSEWHERE = streams_check("streams_routed_elsewhere", "Kafka Streams tasks routed elsewhere",
    "Is every task routed to the instance that runs it?",
    "The routing that members carry names another instance than the one that runs the task, for longer than "
    "a rebalance. Instances without application.server, or with one that others have, do not count.",
    effect="tasks routed elsewhere", thresholds=(lasts(600),),
    runbook="Look for a follow-up rebalance that does not happen, and for members that missed the last one.")
THREADS_SHARE = streams_check("streams_threads_share_endpoint", "Kafka Streams threads share an endpoint",
    "Does each application.server have one thread, with the streams protocol?",
    "With the streams protocol an instance with an application.server has two or more threads (KAFKA-20782).",
    effect="threads share an endpoint", thresholds=(lasts(60),),
    runbook="Run one thread per instance, update Kafka Streams, or use the classic protocol. An application "
    "without interactive queries is not affected: exclude it from this check.")
# fmt: on


@check(MISROUTED)
def judge_answers(seen: Seen) -> Iterator[Condition]:
    """Compare the application's own answers with who runs each task."""
    if seen.misrouted is None:
        yield unknown(MISROUTED)
        return
    percent = 100 * seen.misrouted
    text = f"sends {percent:.3g} % of the keys of its worst store to the wrong instance."
    yield Condition(MISROUTED, text, _share(seen), value=percent)


@check(MISSING, SHARED, UNREACHABLE)
def judge_endpoints(seen: Seen) -> Iterator[Condition]:
    """Look for endpoints that are missing, shared, or lead nowhere."""
    processes = seen.application.processes
    by_kind: dict[FaultKind, dict[str, Process]] = {kind: {} for kind in FaultKind}
    for fault in seen.endpoint_faults:
        by_kind[fault.kind] |= {one.process_id: one for one in fault.processes}
    places = {kind: sorted({one.place for one in own.values()}) for kind, own in by_kind.items()}
    count = f"{len(by_kind[FaultKind.MISSING]):,} of {len(processes):,}"
    effect = _effect(seen) if seen.endpoint_faults else ""
    texts = {
        MISSING: f"has {count} instances without application.server: "
        f"{some(places[FaultKind.MISSING])}. {effect}",
        SHARED: f"has {len(by_kind[FaultKind.SHARED]):,} instances that share "
        f"{some(places[FaultKind.SHARED])}. {effect}",
        UNREACHABLE: "has values of application.server that lead nowhere from another machine, or name no "
        f"port: {some(places[FaultKind.UNREACHABLE])}.",
    }
    is_read = all(tells_endpoint(one, seen.application.protocol) for one in processes)
    # Behind one address there may be one machine or several.
    is_one_address = len({one.client_host for one in processes}) == 1
    for kind, rule in zip(FaultKind, texts, strict=False):
        if by_kind[kind] and not (is_one_address and kind is FaultKind.UNREACHABLE):
            evidence = {"instances": len(by_kind[kind]), "places": listed(places[kind])}
            yield Condition(rule, texts[rule], evidence | _share(seen))
        elif by_kind[kind] or not (is_read and seen.is_all):
            yield unknown(rule)


@check(ELSEWHERE)
def judge_addresses(seen: Seen) -> Iterator[Condition]:
    """Compare addresses of endpoints with those that the brokers see."""
    found = []
    for one in seen.application.processes:
        host = host_and_port(one.endpoint or "")[0]
        own = host_address(host)
        at = own and host_address(one.client_host)
        if (
            at
            and own != at
            and not is_any_address(host)
            and not any(map(is_loopback_host, (host, one.client_host)))
        ):
            found.append(f"{one.endpoint} (connected from {one.client_host})")
    if found:
        text = f"has an application.server of another address: {some(found)}."
        yield Condition(ELSEWHERE, text, {"places": listed(found)})


@check(ROUTED_ELSEWHERE)
def judge_routes(seen: Seen) -> Iterator[Condition]:
    """Compare who is routed to with who runs each source partition."""
    application, answered = seen.application, seen.answered
    if application.protocol is Protocol.STREAMS or not any(
        one.endpoint for one in application.processes
    ):
        return
    if not isinstance(answered, MetadataState):
        yield unknown(ROUTED_ELSEWHERE)
        return
    routed: dict[TopicPartition, tuple[str, int | None]] = {}
    for endpoint, places in answered.active.items():
        routed |= dict.fromkeys(places, host_and_port(endpoint))
    faults = (one for one in seen.endpoint_faults if one.kind is FaultKind.SHARED)
    sharing = {one.process_id for fault in faults for one in fault.processes}
    found = {
        task: (process.endpoint, routed.get(place))
        for process in application.processes
        if process.endpoint is not None and process.process_id not in sharing
        for own in (host_and_port(process.endpoint),)
        for thread in process.threads
        for task in thread.now.active
        for place in application.tasks.get(task, ())
        if routed.get(place) != own
    }
    if found:
        task, (here, there) = min(found.items())
        named = UNAVAILABLE if there is None else f"{there[0]}:{there[1]}"
        text = f"routes {_tasks(len(found))} elsewhere: {task} runs at {here} and is routed to {named}."
        evidence = {"tasks": len(found), "first_tasks": listed(sorted(found))}
        yield Condition(ROUTED_ELSEWHERE, text, evidence)


@check(THREADS_SHARE)
def judge_threads_of_endpoints(seen: Seen) -> Iterator[Condition]:
    """Look for instances of the streams protocol with several threads."""
    if seen.application.protocol is not Protocol.STREAMS:
        return
    found = [one.endpoint for one in seen.application.processes if _has_several(one)]
    if found:
        text = (
            f"has several threads at {some(found)}. Kafka Streams without the fix of KAFKA-20782, 4.3.1 "
            "among them, keeps the partitions of one thread per application.server: which keys it sends "
            "wrong changes, and their share is not known."
        )
        yield Condition(THREADS_SHARE, text, {"instances": len(found), "places": listed(found)})
    elif not seen.is_all:
        yield unknown(THREADS_SHARE)


def _has_several(process: Process) -> bool:
    return process.endpoint is not None and len(process.threads) > 1


def _effect(seen: Seen) -> str:
    """Return how much the application's metadata sees, and the share of keys that it sends wrong."""
    share = "The share of keys that it sends to wrong instances is not known."
    if seen.misrouted is not None:
        share = f"It sends {100 * seen.misrouted:.3g} % of the keys of its worst store to wrong instances."
    if not isinstance(seen.answered, MetadataState):
        return share
    every = _distinct(seen.application.tasks.values())
    visible = every & _distinct(seen.answered.active.values())
    if any(one.partitions is None for one in seen.application.subtopologies.values()):
        return f"{len(visible):,} source partitions are visible, of how many is not known. {share}"
    return f"{len(visible):,} of {len(every):,} source partitions are visible. {share}"


def _distinct(places: Iterable[Iterable[Any]]) -> set[Any]:
    return {place for own in places for place in own}


def _share(seen: Seen) -> dict[str, Any]:
    known = seen.misrouted is not None
    return {"misrouted_percent": round(100 * (seen.misrouted or 0), 3) if known else None}


def _tasks(count: int) -> str:
    return "1 task" if count == 1 else f"{count:,} tasks"


CHECKS: tuple[Check, ...] = (
    MISROUTED, MISSING, SHARED, UNREACHABLE, ELSEWHERE, ROUTED_ELSEWHERE, THREADS_SHARE,
)  # fmt: skip
RULES = (
    judge_answers,
    judge_endpoints,
    judge_addresses,
    judge_routes,
    judge_threads_of_endpoints,
)
