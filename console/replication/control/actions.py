"""Runtime controls of a flow, without a restart: check -> write -> hand over to the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from django.db import transaction
from django.utils import timezone

from console.accounts.audit import audit, change
from console.frame.errors import ActionRefused
from console.frame.security.current_request import current_username
from console.replication.control import control as rules
from console.replication.control.steering import note_steerer
from console.replication.flows.actions import refuse_watched
from console.replication.flows.models import ReplicationFlow
from console.replication.flows.queries import partition_counts
from jobs.cluster.errors import InvalidFields

Control = dict[str, Any]


@change("flow.control")
def change_control(flow: ReplicationFlow, values: Mapping[str, Any]) -> None:
    """Change runtime controls of the flow (values not given stay); no run is restarted.

    Values are those of `control.merge`. Raises `InvalidFields` naming every bad field.
    """
    refuse_watched(flow)
    if "restart" in values:
        raise InvalidFields({"restart": "Name what to restart with the action restart instead."})
    rules.merge(flow.control, values)
    errors = _wrong_names(flow, values)
    if errors:
        raise InvalidFields(errors)
    _write("flow.control", flow, lambda stored: rules.merge(stored, values))


@change("flow.pause")
def pause(flow: ReplicationFlow, names: Sequence[str]) -> None:
    """Pause topics (`orders`) and partitions (`orders:3`) until they are resumed.

    Raises `InvalidFields` for what is not in the flow.
    """
    refuse_watched(flow)
    _check_names(flow, names)
    _write(
        "flow.pause", flow, lambda stored: _with_paused(stored, rules.add_names(_of(stored), names))
    )


@change("flow.resume")
def resume(flow: ReplicationFlow, names: Sequence[str]) -> None:
    """Resume paused topics and partitions at their positions; one that is not paused stays as it is.

    A topic's name resumes its partitions, too. Raises `InvalidFields` for what is not in the flow.
    """
    refuse_watched(flow)
    _check_names(flow, names)
    counts = partition_counts(flow)
    _write(
        "flow.resume",
        flow,
        lambda stored: _with_paused(stored, rules.take_names(_of(stored), names, counts)),
    )


@change("flow.restart_parts")
def restart_parts(flow: ReplicationFlow, names: Sequence[str]) -> None:
    """Restart topics and partitions at their committed positions, failed ones included.

    It is done once, by the current run. Raises `InvalidFields` for what is not in the
    flow, `ActionRefused` when no run is there to do it.
    """
    refuse_watched(flow)
    _check_names(flow, names)
    if flow.run is None or not flow.run.is_live:
        text = (
            f"Flow {flow.name} is not running. Start it: all partitions resume at their positions."
        )
        raise ActionRefused("flow_not_running", text)
    done = str(((flow.run.progress or {}).get("control") or {}).get("restart_token") or "")
    token = uuid4().hex

    def with_restart(stored: Control) -> Control:
        before = stored.get("restart") or {}
        waiting = [] if before.get("token") == done else before.get("topics") or []
        return {**stored, "restart": {"token": token, "topics": sorted({*waiting, *names})}}

    _write("flow.restart_parts", flow, with_restart, told={"names": sorted(names)})


def _of(stored: Control) -> list[str]:
    return list(stored.get("paused") or [])


def _with_paused(stored: Control, paused: list[str]) -> Control:
    return rules.merge(stored, {"paused": paused})


def _check_names(flow: ReplicationFlow, names: Sequence[str]) -> None:
    known = _of(flow.control)
    wrong = rules.wrong_names(names, partition_counts(flow), [*known, *map(rules.topic_of, known)])
    if wrong or not names:
        raise InvalidFields({"names": wrong or "Name a topic, or a partition like orders:3."})


def _wrong_names(flow: ReplicationFlow, values: Mapping[str, Any]) -> dict[str, str]:
    """Look at names that are new here: a topic that has gone since may stay."""
    counts = partition_counts(flow)
    errors = {}
    for field in {"paused", "priorities"} & values.keys():
        known = flow.control.get(field) or ()
        wrong = rules.wrong_names([str(name) for name in values[field] or ()], counts, known)
        if wrong:
            errors[field] = wrong
    colons = [name for name in values.get("priorities") or () if ":" in name]
    if colons:
        errors["priorities"] = f"Topics have priorities, partitions do not: {', '.join(colons)}."
    return errors


def _write(
    action: str,
    flow: ReplicationFlow,
    changed: Callable[[Control], Control],
    told: Mapping[str, Any] | None = None,
) -> None:
    """Write the changed control of a flow and tell its run, if that is on this host."""
    with transaction.atomic():
        row = ReplicationFlow.objects.select_for_update(of=("self",)).get(pk=flow.pk)
        before, row.control = row.control, changed(row.control)
        row.steered_by = note_steerer(row, before, current_username(), timezone.now())
        row.save(update_fields=["control", "steered_by"])
        clusters = f"{flow.source.alias}, {flow.target.alias}"
        if told is None:
            audit(action, f"flow:{flow.name}", cluster=clusters, before=before, after=row.control)
        else:
            audit(action, f"flow:{flow.name}", cluster=clusters, after=told)
    flow.control, flow.steered_by = row.control, row.steered_by
    rules.hand_over(flow, flow.run)
