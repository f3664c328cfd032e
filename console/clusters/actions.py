"""Changes to the registry of clusters: check, then write. Kafka is queried in the request, within seconds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F, ProtectedError

from console.accounts.audit import audit, change
from console.clusters.models import (
    CONNECTION_FIELDS,
    RESERVED_ALIASES,
    Broker,
    Cluster,
    CollectionRound,
    Group,
    Topic,
)
from console.frame.errors import ActionRefused
from console.frame.security.access import told_names, visible
from console.frame.security.current_request import current_request
from jobs.cluster.check import ConnectionCheck, check_connection, field_of_fault
from jobs.cluster.connection import Connection
from jobs.cluster.errors import (
    ClusterFault,
    ClusterIdChanged,
    InvalidFields,
    SeveralClusters,
    TimedOut,
)

Check = Callable[[Connection], ConnectionCheck]


def check_settings(values: Mapping[str, Any], check: Check = check_connection) -> ConnectionCheck:
    """Try settings without saving them; raises `InvalidFields`, or `ActionRefused` at a field."""
    connection = read_settings(values)
    found = _checked(connection, check)
    _refuse_registered(connection.alias, found.cluster_id)
    return found


@change("cluster.create")
def create_cluster(
    values: Mapping[str, Any],
    now: datetime,
    *,
    save_unchecked: bool = False,
    check: Check = check_connection,
) -> Cluster:
    """Register a cluster that answers, or with `save_unchecked` one that does not.

    Raises `InvalidFields` for settings that do not fit together and `ActionRefused` with the field
    to which the cluster's refusal belongs.
    """
    connection = read_settings(values)
    _refuse_unused(connection, values)
    if connection.alias in RESERVED_ALIASES:
        raise InvalidFields(
            {
                "alias": f"{connection.alias!r} is reserved for addresses of the console."
                " Choose another alias."
            }
        )
    if Cluster.objects.filter(alias=connection.alias).exists():
        raise _alias_taken(connection.alias)
    cluster = Cluster(alias=connection.alias, created_at=now)
    _take_settings(cluster, connection, values)
    _take_check(cluster, connection, now, check, save_unchecked=save_unchecked)
    try:
        with transaction.atomic():
            cluster.save(force_insert=True)
            _audit("cluster.create", cluster, after=settings_of(cluster))
    except IntegrityError:
        raise _alias_taken(connection.alias) from None
    return cluster


@change("cluster.change")
def change_cluster(
    cluster: Cluster,
    values: Mapping[str, Any],
    now: datetime,
    *,
    save_unchecked: bool = False,
    check: Check = check_connection,
) -> Cluster:
    """Change the settings that `values` names; the alias stays, it is part of remote topics' names."""
    if values.get("alias", cluster.alias) != cluster.alias:
        raise InvalidFields(
            {"alias": "The alias cannot be changed: it is in the names of remote topics."}
        )
    kept = {name: getattr(cluster, name) for name in CONNECTION_FIELDS}
    connection = read_settings({**kept, **values})
    _refuse_unused(connection, values)
    connection = replace(connection, cluster_id=cluster.cluster_id or None)
    before, settings_before = cluster.connection(), settings_of(cluster)
    _take_settings(cluster, connection, values)
    if connection != before:
        _take_check(cluster, connection, now, check, save_unchecked=save_unchecked)
    with transaction.atomic():
        cluster.save()
        _audit("cluster.change", cluster, before=settings_before, after=settings_of(cluster))
    make_due(cluster)
    return cluster


@change("cluster.check")
def recheck_cluster(
    cluster: Cluster, now: datetime, check: Check = check_connection
) -> ConnectionCheck:
    """Check a registered cluster again and remember what was found; raises `ActionRefused`."""
    connection = cluster.connection()
    try:
        found = check(connection)
    except ClusterFault as fault:
        seen = {"seen_cluster_id": fault.found} if isinstance(fault, ClusterIdChanged) else {}
        Cluster.objects.filter(pk=cluster.pk).update(
            checked_at=now, findings=[_sentence(fault)], **seen
        )
        raise _refused(fault) from None
    _refuse_registered(cluster.alias, found.cluster_id)
    _remember(cluster, found, now)
    _audit("cluster.check", cluster)
    cluster.save(
        update_fields=[
            "cluster_id",
            "seen_cluster_id",
            "operations",
            "findings",
            "versions",
            "versions_at",
            "checked_at",
        ]
    )
    make_due(cluster)
    return found


@change("cluster.confirm_id")
def confirm_cluster_id(cluster: Cluster, cluster_id: str) -> None:
    """Confirm the id of another cluster at the same address; the rows of the old one are deleted.

    Only the id that was seen last can be confirmed.
    """
    _refuse_registered(cluster.alias, cluster_id)
    seen = Cluster.objects.filter(pk=cluster.pk, seen_cluster_id=cluster_id)
    with transaction.atomic():
        is_seen = seen.exclude(seen_cluster_id="").update(cluster_id=cluster_id, seen_cluster_id="")
        if is_seen:
            _forget_rows(cluster)
            Cluster.objects.filter(pk=cluster.pk).update(versions=None, versions_at=None)
            before, after = {"cluster_id": cluster.cluster_id}, {"cluster_id": cluster_id}
            _audit("cluster.confirm_id", cluster, before=before, after=after)
    if not is_seen:
        last = cluster.seen_cluster_id or "no other ID"
        raise ActionRefused(
            "not_the_seen_cluster_id",
            f"The cluster ID {cluster_id!r} is not the one seen last at {cluster.bootstrap_servers} "
            f"({last}). Check the connection again, then confirm the ID that is shown.",
            {"cluster_id": "This is not the cluster ID that was seen last."},
        )
    make_due(cluster)


@change("cluster.delete")
def delete_cluster(cluster: Cluster) -> None:
    """Remove a cluster and everything seen of it; raises `ActionRefused` while a flow uses it."""
    try:
        with transaction.atomic():
            _audit("cluster.delete", cluster, before=settings_of(cluster))
            cluster.delete()
    except ProtectedError as error:
        used_by = _told_users({*error.protected_objects})
        text = f"Cluster {cluster.alias} is used by {used_by}. Delete these first."
        raise ActionRefused("cluster_in_use", text) from None


def _told_users(rows: Collection[Any]) -> str:
    """Name what keeps a cluster from being removed, as far as the person who asks may see it."""
    user = getattr(current_request(), "user", None)
    keys = {type(row): {one.pk for one in rows if type(one) is type(row)} for row in rows}
    told = [
        told_names(user, model._default_manager.filter(pk__in=pks)) for model, pks in keys.items()
    ]
    return ", ".join(sorted(told))


def settings_of(cluster: Cluster) -> dict[str, Any]:
    """Return the settings of a cluster for the audit log; secrets are references."""
    return {name: getattr(cluster, name) for name in (*CONNECTION_FIELDS, "is_enabled")}


def make_due(cluster: Cluster) -> None:
    """Let the next tick of the clock run all rounds of this cluster that are not running now."""
    resting = CollectionRound.objects.filter(cluster=cluster, finished_at__gte=F("started_at"))
    resting.update(claimed_until=None)


def read_settings(values: Mapping[str, Any]) -> Connection:
    """Read connection settings; raises `InvalidFields` naming every bad field."""
    own = {name: value for name, value in values.items() if name != "is_enabled"}
    if "cluster_id" in own:
        raise InvalidFields({"cluster_id": "The cluster reports its ID; it cannot be set."})
    return Connection.from_mapping(own)


def _refuse_unused(connection: Connection, values: Mapping[str, Any]) -> None:
    """Refuse what is given now and has no effect; what an older release stored so stays usable."""
    unused = {name: text for name, text in connection.unused().items() if values.get(name)}
    if unused:
        raise InvalidFields(unused)


def _audit(action: str, cluster: Cluster, **sides: Mapping[str, Any]) -> None:
    audit(action, f"cluster:{cluster.alias}", cluster=cluster.alias, **sides)  # type: ignore[arg-type]  # before, after


def _forget_rows(cluster: Cluster) -> None:
    for model in (Topic, Group, Broker):
        model.objects.filter(cluster=cluster).delete()


def _take_settings(cluster: Cluster, connection: Connection, values: Mapping[str, Any]) -> None:
    written = connection.to_mapping()
    for name in CONNECTION_FIELDS:
        setattr(cluster, name, written.get(name, ""))
    cluster.is_enabled = values.get("is_enabled", cluster.is_enabled)


def _take_check(
    cluster: Cluster,
    connection: Connection,
    now: datetime,
    check: Check,
    *,
    save_unchecked: bool,
) -> None:
    try:
        found = check(connection)
    except ClusterFault as fault:
        if not save_unchecked or isinstance(fault, SeveralClusters):
            raise _unsaved(fault) from None
        cluster.checked_at, cluster.operations = now, None
        cluster.findings = [_sentence(fault)]
    else:
        _refuse_registered(cluster.alias, found.cluster_id)
        _remember(cluster, found, now)


def _remember(cluster: Cluster, found: ConnectionCheck, now: datetime) -> None:
    cluster.cluster_id = cluster.cluster_id or found.cluster_id
    cluster.seen_cluster_id = ""
    cluster.operations = sorted(found.operations)
    cluster.findings = list(found.findings)
    if found.versions:
        cluster.versions, cluster.versions_at = found.versions.to_mapping(), now
    cluster.checked_at = now


def _checked(connection: Connection, check: Check) -> ConnectionCheck:
    try:
        return check(connection)
    except ClusterFault as fault:
        raise _unsaved(fault) from None


def _refuse_registered(alias: str, cluster_id: str) -> None:
    """Refuse a cluster of another alias: a flow between the two would copy it into itself."""
    others = (
        Cluster.objects.filter(cluster_id=cluster_id).exclude(cluster_id="").exclude(alias=alias)
    )
    other = others.first()
    if other is None:
        return
    request = current_request()
    is_seen = request is None or visible(request.user, others.filter(pk=other.pk)).exists()
    name = f"as {other.alias}" if is_seen else "under an alias that you may not see"
    sentence = f"Cluster {cluster_id} is already registered {name}."
    raise ActionRefused("registered_twice", sentence, {"bootstrap_servers": sentence})


def _unsaved(fault: ClusterFault) -> ActionRefused:
    """Return the refusal of new settings, which no later round queries again."""
    if isinstance(fault, TimedOut):
        fault.hint = "Nothing was saved. Check that the port is a listener of a Kafka broker."
    return _refused(fault)


def _refused(fault: ClusterFault) -> ActionRefused:
    sentence = _sentence(fault)
    return ActionRefused(fault.code, sentence, {field_of_fault(fault): sentence})


def _sentence(fault: ClusterFault) -> str:
    return f"{fault.message} {fault.hint}"


def _alias_taken(alias: str) -> InvalidFields:
    return InvalidFields({"alias": f"A cluster with the alias {alias} is already registered."})
