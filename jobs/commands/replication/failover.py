"""`crosslog failover FLOW.yaml --group G`: plan, rehearse, apply and undo a failover from a shell."""

from __future__ import annotations

import argparse
import getpass
import json
import os
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

from jobs.cluster.connection import Connection
from jobs.cluster.errors import ClusterFault, InvalidFields
from jobs.commands import command
from jobs.commands.replication import failover_text as words
from jobs.commands.replication.failover_file import BadUndoFile, UndoFile
from jobs.replication.failover.applying import GroupOutcome, OutcomeState, apply_group, undo_group
from jobs.replication.failover.kafka import (
    open_groups,
    read_last_checkpoints,
    read_translator,
)
from jobs.replication.failover.model import (
    CheckState,
    Direction,
    FailoverPlan,
    FailoverRequest,
    Untranslated,
)
from jobs.replication.failover.read_evidence import EvidenceRequest, Known, Route
from jobs.replication.failover.reports.report import RunFacts, RunKind, build_report
from jobs.replication.failover.reports.signing import kept_key
from jobs.replication.failover.session import (
    PlanRefused,
    ask_plan,
    groups_that_count,
    left_out,
    refuse_blocked,
)
from jobs.replication.flow.file import read_flow_file
from jobs.replication.flow.spec import FlowSpec


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns its exit code."""
    try:
        task = _Task(arguments)
        return task.undo() if arguments.undo else task.plan()
    except BadUndoFile as error:
        return command.say(f"{arguments.undo}: {error}")
    except PlanRefused as refusal:
        return command.say(refusal.message, command.FINDING)
    except (InvalidFields, ClusterFault, OSError) as error:
        return command.refuse(error, arguments.flow)


@dataclass(slots=True)
class _Done:
    kind: RunKind
    started_at: datetime
    outcomes: list[GroupOutcome]
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_well(self) -> bool:
        bad = {OutcomeState.REFUSED, OutcomeState.FAILED}
        return not any(one.state in bad for one in self.outcomes)


def _read_reverse(path: Path) -> FlowSpec:
    """Read the flow of the way back; its faults name its own file."""
    try:
        return read_flow_file(path)
    except InvalidFields as error:
        told = {f"{path}: {name}": text for name, text in error.errors.items()}
        raise InvalidFields(told) from None


class _Task:
    """One call of the command."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.flow = read_flow_file(arguments.flow)
        other = arguments.reverse_flow
        self.reverse = _checked_reverse(self.flow, _read_reverse(other)) if other else None
        if not arguments.group and not arguments.undo:
            raise InvalidFields({"group": "Name at least one group, or a pattern like '.*'."})

    def plan(self) -> int:
        """Plan, and do what was requested with the plan."""
        asking = self._asking()
        plan = ask_plan(asking)
        groups, done = groups_that_count(plan), None
        if self.arguments.rehearse or self.arguments.apply:
            if self.arguments.apply:
                refuse_blocked(plan, [one.group for one in groups])
            done = self._carry_out(plan, asking.destination)
        self._print(plan, asking.destination, done)
        blocked = CheckState.FAILED in {plan.verdict, *(one.verdict for one in groups)}
        return (
            command.FINDING if blocked or not groups or (done and not done.is_well) else command.OK
        )

    def undo(self) -> int:
        """Give groups their offsets back."""
        saved = UndoFile.read(self.arguments.undo)
        destination = self._destination(saved.destination)
        done = _Done(RunKind.UNDO, _now(), [])
        with open_groups(destination) as groups:
            for group in saved.before:
                outcome = undo_group(
                    groups, group, saved.before[group], saved.written[group],
                    even_if_moved=self.arguments.even_if_moved,
                )  # fmt: skip
                done.outcomes.append(outcome)
        self._report(saved.plan, done)
        told = [one.to_mapping() for one in done.outcomes]
        command.print_answer(
            self.arguments, lambda: {"outcomes": told}, words.outcomes(done.outcomes)
        )
        return command.OK if done.is_well else command.FINDING

    def _asking(self) -> EvidenceRequest:
        given = self.arguments
        wish = FailoverRequest(
            Direction.FAILBACK if given.back else Direction.FAILOVER,
            tuple(given.group),
            tuple(given.topic) or (".*",),
            Untranslated(given.untranslated),
        )
        flows = [self.flow, *([self.reverse] if self.reverse else [])]
        routes = tuple(
            Route(one, read_translator(one), int(_now().timestamp() * 1000)) for one in flows
        )
        last: Callable[[], Known] | None = None
        if wish.direction is Direction.FAILOVER:
            last = lambda: read_last_checkpoints(self.flow)  # noqa: E731  asked only in a disaster
        return EvidenceRequest(wish, routes, last)

    def _destination(self, alias: str) -> Connection:
        for one in (self.flow.target, self.flow.source):
            if one.alias == alias:
                return one
        raise BadUndoFile(f"it is about {alias}, which is no cluster of this flow")

    def _carry_out(self, plan: FailoverPlan, destination: Connection) -> _Done:
        is_rehearsal = bool(self.arguments.rehearse)
        done = _Done(
            RunKind.REHEARSAL if is_rehearsal else RunKind.APPLY, _now(), [], left_out(plan)
        )
        saved = UndoFile(plan, destination.alias, {}, {})
        path = self.arguments.save or Path(f"failover-{done.started_at:%Y%m%dT%H%M%SZ}.json")
        with open_groups(destination) as groups:
            for group in (one for one in plan.groups if one.group not in done.left_out):
                outcome = apply_group(
                    groups, group, None, saved.storing(path, group), rehearse=is_rehearsal
                )
                done.outcomes.append(outcome)
        if saved.before:
            command.say(f"Previous offsets are in {path}: --undo {path} restores them.")
        self._report(plan, done)
        return done

    def _report(self, plan: FailoverPlan, done: _Done) -> None:
        if self.arguments.report is None:
            return
        facts = RunFacts(
            str(uuid.uuid4()), done.kind, "succeeded" if done.is_well else "failed",
            f"{plan.flow} from a shell", _person(), done.started_at, _now(), left_out=done.left_out,
        )  # fmt: skip
        document = kept_key(_home() / "report-key.pem").sign(
            build_report(facts, plan, done.outcomes)
        )
        self.arguments.report.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")

    def _print(self, plan: FailoverPlan, destination: Connection, done: _Done | None) -> None:
        told: dict[str, Any] = {"plan": plan.to_mapping()}
        lines = words.plan(plan, destination.bootstrap_servers, is_dry=done is None)
        if done:
            told["outcomes"] = [one.to_mapping() for one in done.outcomes]
            told["left_out"] = dict(done.left_out)
            lines = chain(lines, words.outcomes(done.outcomes, done.left_out))
        command.print_answer(self.arguments, lambda: told, lines)


def _checked_reverse(flow: FlowSpec, reverse: FlowSpec) -> FlowSpec:
    if (reverse.source.alias, reverse.target.alias) != (flow.target.alias, flow.source.alias):
        text = f"A flow from {flow.target.alias} to {flow.source.alias} is required."
        raise InvalidFields({"reverse-flow": text})
    return replace(reverse)


def _home() -> Path:
    return Path(os.environ.get("CROSSLOG_HOME") or Path.home() / ".local" / "share" / "crosslog")


def _person() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


def _now() -> datetime:
    return datetime.now(UTC)
