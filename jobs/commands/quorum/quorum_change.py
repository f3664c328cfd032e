"""`crosslog quorum-change PATH`: the safe steps to other voters of a KRaft quorum. It changes nothing."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from jobs.commands import command
from jobs.commands.quorum.voters import read_timeline
from jobs.quorum.advisor.advice import plan_change
from jobs.quorum.advisor.commands import Tools
from jobs.quorum.advisor.input import parse_disk, parse_node, parse_pairs, state_from_text
from jobs.quorum.advisor.plan import ChangePlan, PlanStep, QuorumStatus, WantedChange
from jobs.quorum.advisor.site_layout import plan_layout
from jobs.quorum.advisor.state import QuorumState, state_from_timeline
from jobs.quorum.log.folder import read_folder

LARGEST_DOCUMENT_BYTES = 16 << 20


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns its exit code."""
    try:
        state, cluster_id = _state(arguments)
        tools = Tools(
            arguments.bootstrap_server,
            arguments.properties,
            arguments.client_properties,
            cluster_id,
        )
        plan = _plan(arguments, state, tools)
    except (OSError, ValueError) as error:
        return command.refuse(error)
    command.print_answer(arguments, plan.to_mapping, lines(plan))
    return command.OK if plan.refusal is None else command.FINDING


def _plan(arguments: argparse.Namespace, state: QuorumState, tools: Tools) -> ChangePlan:
    nodes = tuple(parse_node(text) for text in arguments.add)
    if arguments.layout:
        if arguments.remove or arguments.replace:
            raise ValueError("--layout decides which voters leave: omit --remove and --replace")
        wanted = {site: _count(n) for site, n in parse_pairs(arguments.layout, "--layout").items()}
        return plan_layout(state, wanted, nodes, tools)
    removed = tuple(_count(text) for text in arguments.remove)
    disks = tuple(parse_disk(text) for text in arguments.replace)
    return plan_change(state, WantedChange(nodes, removed, disks), tools)


def _state(arguments: argparse.Namespace) -> tuple[QuorumState, str]:
    """Return the quorum and the id of its cluster, empty when not known; raises OSError and ValueError."""
    path: Path = arguments.path
    cluster_id = ""
    if path.is_dir():
        folder = read_folder(path)
        if folder.meta_properties and folder.meta_properties.cluster_id:
            cluster_id = folder.meta_properties.cluster_id
        state = state_from_timeline(read_timeline(folder))
    else:
        state, cluster_id = _from_file(path)
    return _with_facts(state, arguments), cluster_id


def _from_file(path: Path) -> tuple[QuorumState, str]:
    content = command.read_bounded(path, LARGEST_DOCUMENT_BYTES)
    try:
        return state_from_text(content)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _with_facts(state: QuorumState, arguments: argparse.Namespace) -> QuorumState:
    dead = {_count(text) for text in arguments.dead}
    sites = {_count(id_): site for id_, site in parse_pairs(arguments.site, "--site").items()}
    unknown = dead - state.voters.ids
    if unknown:
        raise ValueError(
            f"--dead {min(unknown)}: it is no voter; they are {sorted(state.voters.ids)}"
        )
    leader = state.leader_id if arguments.leader is None else arguments.leader
    alive = state.alive - dead if dead else state.alive_ids
    return replace(state, alive_ids=alive, leader_id=leader, sites=sites)


def _count(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 10:  # noqa: PLR2004  digits of an int32
        raise ValueError(f"{text!r}: a number is expected")
    return int(text)


def lines(plan: ChangePlan) -> Iterator[str]:
    yield f"now: {_moment(plan.before)}"
    yield from (f"! {caution}" for caution in plan.cautions)
    if plan.refusal is not None:
        yield f"refused: {plan.refusal.sentence} [{plan.refusal.code}]"
        yield f"  do: {plan.refusal.todo}"
        return
    for step in plan.steps:
        yield from _step(step)
    yield f"afterwards: {_moment(plan.after)}"
    yield from (f"! {warning}" for warning in plan.warnings)
    yield from (f"- {note}" for note in plan.notes)


def _step(step: PlanStep) -> Iterator[str]:
    yield f"{step.number}. {step.sentence}"
    yield from (f"   {_command(line)}" for line in step.prepare)
    yield f"   $ {step.command}"
    yield f"   $ {step.check}"
    yield f"   must show: {step.expect}"
    yield f"   then: {_moment(step.after)}"
    yield from (f"   ! {warning}" for warning in step.warnings)


def _command(line: str) -> str:
    return f"$ {line}" if line.startswith("bin/") else line


def _moment(moment: QuorumStatus) -> str:
    deadly = (
        f"; the loss of {' or of '.join(moment.deadly_sites)} stops it"
        if moment.deadly_sites
        else ""
    )
    return f"voters {sorted(moment.voters.ids)}, {moment.outlook}{deadly}"
