"""Actions on flows: check -> write. `ensure_flows` then reconciles the runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from console.accounts.audit import audit, change
from console.accounts.models import User
from console.clusters.models import Cluster
from console.frame.errors import ActionRefused
from console.frame.security.access import require, visible
from console.replication.control.conflicts import find_conflict
from console.replication.control.control import hand_over
from console.replication.flows.models import SETTINGS, FlowTopic, ReplicationFlow
from console.replication.flows.preview import cautions_now, preview_flow
from console.runs.models import LIVE_STATES
from jobs.cluster.errors import InvalidFields
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.topics.preview import refuse_unconfirmed

NOT_STARTED = "MirrorMaker 2 replicates this flow: crosslog monitors it and does not start it."


@change("flow.create")
def create_flow(
    values: Mapping[str, Any],
    user: User | None,
    now: datetime,
    *,
    start: bool = False,
    confirm: str = "",
) -> ReplicationFlow:
    """Write a new flow; `source` and `target` are aliases of registered clusters.

    `confirm` is its name again, for what is hardly wanted (`find_cautions`). Raises `InvalidFields` naming
    every bad field.
    """
    flow = ReplicationFlow(created_at=now, created_by=user, is_wanted=start)
    spec = _take(flow, values, user)
    refuse_unconfirmed(spec, cautions_now(spec), confirm)
    if start and flow.is_watched:
        raise InvalidFields({"start": NOT_STARTED})
    with transaction.atomic():
        flow.save()
        _audit("flow.create", flow, after={**settings_of(flow), "is_wanted": start})
    return flow


@change("flow.change")
def change_flow(
    flow: ReplicationFlow, values: Mapping[str, Any], *, confirm: str = ""
) -> ReplicationFlow:
    """Write changed settings (those not given stay); `confirm` as in `create_flow`.

    A running flow takes live settings over (`live_settings`) and is restarted with all others.

    Source and target stay: positions and topic ids belong to that pair. Raises `InvalidFields`.
    """
    moved = {
        side: f"The {side} of a flow cannot change: create another flow instead."
        for side, cluster in (("source", flow.source), ("target", flow.target))
        if values.get(side, cluster.alias) != cluster.alias
    }
    if moved:
        raise InvalidFields(moved)
    before = settings_of(flow)
    is_going = flow.is_wanted or (flow.run is not None and flow.run.is_live)
    known = preview_flow(flow.spec())[1]
    spec = _take(flow, {**before, **values})
    new = [caution for caution in cautions_now(spec) if caution not in known]
    refuse_unconfirmed(spec, new, confirm)
    if flow.is_watched and is_going:
        raise InvalidFields({"copied_by": "Stop the flow first: crosslog still replicates it."})
    with transaction.atomic():
        flow.save(update_fields=list(SETTINGS))
        _audit("flow.change", flow, before=before, after=settings_of(flow))
    hand_over(flow, flow.run)
    return flow


def refuse_watched(flow: ReplicationFlow) -> None:
    """Refuse what only a flow that crosslog copies can do; raises `ActionRefused`."""
    if flow.is_watched:
        raise ActionRefused(
            "flow_is_watched",
            f"Flow {flow.name} is replicated by MirrorMaker 2; crosslog only monitors it. Start, stop "
            f"and limit "
            "it in MirrorMaker 2. To replicate it with crosslog, stop MirrorMaker 2 and change 'Replicator' "
            "in the settings of the flow.",
        )


def settings_of(flow: ReplicationFlow) -> dict[str, Any]:
    """Return the settings of a flow as `create_flow` takes them."""
    values = {name: getattr(flow, name) for name in SETTINGS}
    return {**values, "source": flow.source.alias, "target": flow.target.alias}


def check_settings(
    values: Mapping[str, Any], user: Any = None, flow_id: int | None = None
) -> FlowSpec:
    """Return the flow of untrusted values, without saving; raises `InvalidFields`."""
    return _check(values, flow_id, user)[0]


@change("flow.start")
def start_flow(flow: ReplicationFlow) -> None:
    """Want the flow to run: a run starts within seconds; failures before count no more.

    A flow that was set apart shares its engine again.
    """
    if flow.deletion_asked_at is not None:
        raise ActionRefused("flow_is_deleted", f"Flow {flow.name} is being deleted.")
    refuse_watched(flow)
    problem = flow.spec().same_cluster_problem()
    if problem:
        raise ActionRefused("same_cluster", f"Flow {flow.name} cannot start: {problem}")
    _want(flow, is_wanted=True)
    _audit("flow.start", flow)


@change("flow.stop")
def stop_flow(flow: ReplicationFlow) -> None:
    """Want the flow not to run: its run flushes, commits its positions and ends."""
    refuse_watched(flow)
    _want(flow, is_wanted=False)
    _audit("flow.stop", flow)


@change("flow.delete")
def delete_flow(flow: ReplicationFlow, now: datetime) -> bool:
    """Delete a flow, its run first. True: it is gone; False: it goes when its run has ended.

    Topics, records and positions in the target cluster stay as they are.
    """
    idle = ReplicationFlow.objects.filter(pk=flow.pk).exclude(run__state__in=LIVE_STATES)
    ReplicationFlow.objects.filter(pk=flow.pk).update(is_wanted=False)
    _audit("flow.delete", flow, before=settings_of(flow))
    if idle.exists():
        flow.delete()
        return True
    ReplicationFlow.objects.filter(pk=flow.pk, deletion_asked_at=None).update(deletion_asked_at=now)
    return False


@change("flow.accept_topics")
def accept_new_topics(flow: ReplicationFlow, topics: Collection[str]) -> None:
    """Copy these topics from their beginning, although other records were copied under their names.

    For topics that were deleted and created again on the source. The stored topic ids are
    forgotten, and the next run gets the names in its argument `reset_topics`: the engine starts
    them at their log start and commits that as their position. A running flow is restarted. The
    names stay on the flow until a run that got them copies all their partitions.
    """
    refuse_watched(flow)
    known = set(flow.flow_topics.filter(topic__in=topics).values_list("topic", flat=True))
    unknown = sorted(set(topics) - known)
    if unknown or not topics:
        text = f"Not a topic of this flow: {', '.join(unknown)}." if unknown else "Name a topic."
        raise InvalidFields({"topics": text})
    with transaction.atomic():
        row = ReplicationFlow.objects.select_for_update().get(pk=flow.pk)
        row.topic_ids = {t: i for t, i in row.topic_ids.items() if t not in known}
        row.reset_topics = sorted({*row.reset_topics, *known})
        row.save(update_fields=["topic_ids", "reset_topics"])
        FlowTopic.objects.filter(flow=row, topic__in=known).update(accepts_new=False)
        _audit("flow.accept_topics", flow, after={"topics": sorted(known)})


def _want(flow: ReplicationFlow, *, is_wanted: bool) -> None:
    ReplicationFlow.objects.filter(pk=flow.pk).update(
        is_wanted=is_wanted,
        failures=0,
        failure="",
        failing_since=None,
        next_try_at=None,
        set_apart_at=None,
    )


def _audit(action: str, flow: ReplicationFlow, **sides: Mapping[str, Any]) -> None:
    clusters = f"{flow.source.alias}, {flow.target.alias}"
    audit(action, f"flow:{flow.name}", cluster=clusters, **sides)  # type: ignore[arg-type]  # before, after


def _take(flow: ReplicationFlow, values: Mapping[str, Any], user: Any = None) -> FlowSpec:
    spec, source, target = _check(values, flow.pk, user)
    flow.source, flow.target = source, target
    mapping = spec.to_mapping()
    for name in SETTINGS:
        setattr(flow, name, mapping[name])
    return spec


def _check(
    values: Mapping[str, Any], flow_id: int | None, user: Any
) -> tuple[FlowSpec, Cluster, Cluster]:
    """Read values; a user (None: crosslog itself) needs the right to operate both clusters."""
    errors: dict[str, str] = {}
    source = _cluster(values.get("source"), "source", errors, user)
    target = _cluster(values.get("target"), "target", errors, user)
    mapping: dict[str, Any] = {**values}
    for side, cluster in (("source", source), ("target", target)):
        mapping[side] = cluster.connection().to_mapping() if cluster else None
    try:
        spec = FlowSpec.from_mapping(mapping)
    except InvalidFields as invalid:
        raise InvalidFields(_at_form_fields(invalid.errors) | errors) from None
    if source is None or target is None:
        raise InvalidFields(errors)
    if user is not None:
        require(user, "operate", source.pk, target.pk)
    problem = spec.same_cluster_problem()
    if problem:
        raise InvalidFields({"target": problem})
    _check_name(spec.name, flow_id)
    conflict = find_conflict(spec, source, target, flow_id)
    if conflict is not None:
        raise InvalidFields({"topics": conflict})
    return spec, source, target


def _cluster(alias: object, field: str, errors: dict[str, str], user: Any) -> Cluster | None:
    if not isinstance(alias, str) or not alias:
        errors[field] = "Choose a cluster."
        return None
    known = Cluster.objects.filter(alias=alias)
    cluster = (known if user is None else visible(user, known)).first()
    if cluster is None:
        errors[field] = f"No cluster is registered under the alias {alias}."
    return cluster


def _check_name(name: str, flow_id: int | None) -> None:
    same = ReplicationFlow.objects.filter(name=name).first()
    if same is not None and same.pk != flow_id:
        raise InvalidFields({"name": f"There is a flow named {name} already."})


def _at_form_fields(errors: Mapping[str, str]) -> dict[str, str]:
    """Put a problem of a cluster's connection (`source.sasl_username`) to the cluster's field."""
    sides = {"source", "target"}
    return {
        side if (side := name.partition(".")[0]) in sides else name: text
        for name, text in errors.items()
    }
