"""Every kind of person asks every address: who may do what, and what is wrong with an answer."""

from __future__ import annotations

from django.db import connection, transaction

from console.findings.check_settings import CheckSetting
from console.findings.models import MaintenanceWindow, Objective
from console.notifications.models import NotificationChannel, NotificationRoute
from console.runs.engines.models import Engine
from jobs.spark.analyses.kinds import ANALYSES
from tests.console.findings.incident_rows import make_incident
from tests.console.safety.needs import ANYWHERE, HERE, MINE, OPEN, OWN, PUBLIC, SOURCE, Need
from tests.console.safety.routes import EXPECTED, MINE_ALONE, all_routes
from tests.console.safety.world import bearer, make_person, make_token, promotion_of
from tests.console.safety.writes import noting_writes
from tests.console.tracing.replays.making import make_redrive

ROUTES = all_routes()
HTTP_SERVER_ERROR = 500
LEVELS = {"view": 1, "operate": 2, "administer": 3}
# Everybody's level everywhere, and on east and west.
PEOPLE = {
    "anonymous": (-1, -1),
    "expired token": (-1, -1),
    "revoked token": (-1, -1),
    "token of a disabled person": (-1, -1),
    "outsider": (0, 0),
    "viewer": (1, 1),
    "operator": (2, 2),
    "admin": (3, 3),
    "viewer of east and west": (0, 1),
    "operator of east and west": (0, 2),
    "admin of east and west": (0, 3),
    "viewer, and operator of east and west": (1, 2),
    "token of a viewer": (1, 1),
    "operator's token of an admin": (2, 2),
    "operator's token for east and west": (0, 2),
    "admin's token for east and west": (0, 3),
}
# A token that opens nothing is a 401 wherever a person would be anonymous.
DEAD = {"expired token", "revoked token", "token of a disabled person"}
TOKENS = {who for who in PEOPLE if "token" in who}
# What a refused request may write: that it was tried, and when a token was used.
NOTED = {"accounts_auditentry", "accounts_servicetoken", "accounts_signinfailures"}


def headers_of(who: str, world, client) -> dict[str, str]:
    """Make a person, sign them in with `client` or return the headers of their token."""
    if who == "anonymous":
        return {}
    if who in TOKENS:
        owner = make_person("owner", "viewer" if who == "token of a viewer" else "admin")
        owner.is_active = who != "token of a disabled person"
        owner.save()
        before = world.flow.created_at
        fields = {"expired token": {"expires_at": before}, "revoked token": {"revoked_at": before}}
        scope = [world.east, world.west] if "for east and west" in who else None
        role = "operator" if who.startswith("operator's") else "admin"
        return bearer(make_token(owner, role, clusters=scope, **fields.get(who, {}))[1])
    words = who.replace(", and", "").split()
    everywhere = words[0] if words[0] in {"viewer", "operator", "admin"} else "none"
    role = everywhere if " of " not in who or ", and" in who else "none"
    right = who.partition(" of ")[0].split()[-1] if " of " in who else ""
    granted = dict.fromkeys(("east", "west"), right) if right else {}
    client.force_login(make_person("somebody", role, **granted))
    return {}


def objects_of(world, *, is_dark: bool) -> dict:
    """Return the parameters of every address: objects that are granted to some, or to none."""
    cluster, flow = (world.dark, world.dark_flow) if is_dark else (world.east, world.flow)
    run = world.dark_run if is_dark else world.run
    plan = world.dark_plan if is_dark else world.plan
    report_run = world.dark_report_run if is_dark else world.report_run
    placement = world.dark_placement if is_dark else world.placement
    incident = make_incident(
        cluster=cluster, key=f"broker:{cluster.alias}", title="Broker 3 is down"
    )
    policy, action, drill = promotion_of(cluster)
    redrive = make_redrive(cluster)
    other = make_person("another")
    token = make_token(other)[0]
    return {
        "alias": cluster.alias,
        "name": "topic-00000",
        "group_id": "group-00000",
        "application_id": "shop",
        "flow_id": flow.pk,
        "run_id": run.pk,
        "person_id": other.pk,
        "token_id": token.pk,
        "plan_id": plan.pk,
        "row_id": plan.plan_groups.get().pk,
        "which": "apply",
        "form": "json",
        "offset": 600,
        "placement_id": placement.pk,
        "topic": "orders",
        "partition": 0,
        "extractor_id": cluster.extractors.get().pk,
        "policy_id": policy.pk,
        "action_id": action.pk,
        "drill_id": drill.pk,
        "kind": next(iter(ANALYSES), "none"),
        "table": "leaders",
        "schedule_id": world.schedule.pk,
        "setting_id": CheckSetting.objects.get(cluster=cluster).pk,
        "objective_id": Objective.objects.get(cluster=cluster).pk,
        "route_id": NotificationRoute.objects.get().pk,
        "channel_id": NotificationChannel.objects.get().pk,
        "channel_kind": "opsgenie",
        "window_id": MaintenanceWindow.objects.get(cluster=cluster).pk,
        "report_id": world.report.pk,
        "report_kind": "replication",
        "delivery_id": report_run.deliveries.get().pk,
        "file_format": "json",
        "chapter": "operate",
        "file_name": "grafana-dashboard.json",
        "number": 0,
        "incident_id": incident.pk,
        "chart": "flows",
        "redrive_id": redrive.pk,
        "of": {
            "api-incident": {"pk": incident.pk},
            "api-flow": {"pk": flow.pk},
            "api-redrive": {"pk": redrive.pk},
            "tracing": {"run_id": redrive.plan_run_id},
            "api-availability": {"pk": cluster.partition_statuses.get(topic="orders").pk},
            "api-run": {"pk": run.pk},
            "api-engine": {"pk": Engine.objects.get().pk},
            "runs": {"name": Engine.objects.get().pk},
            "api-failover": {"pk": plan.pk},
            "replication": {"run_id": plan.failover_runs.get().pk},
            "api-person": {"pk": other.pk},
            "api-token": {"pk": token.pk},
            "api-placement": {"pk": placement.pk},
            "api-extractor": {"pk": cluster.extractors.get().pk},
            "api-policy": {"pk": policy.pk},
            "api-action": {"pk": action.pk},
            "api-drill": {"pk": drill.pk},
            "api-schedule": {"pk": world.schedule.pk},
            "api-check": {"pk": "broker_down"},
            "api-setting": {"pk": CheckSetting.objects.get(cluster=cluster).pk},
            "api-objective": {"pk": Objective.objects.get(cluster=cluster).pk},
            "api-window": {"pk": MaintenanceWindow.objects.get(cluster=cluster).pk},
            "api-notification": {"pk": NotificationRoute.objects.get().pk},
            "reports": {"run_id": report_run.pk},
            "api-delivery": {"pk": report_run.deliveries.get().pk},
            "api-reports": {"pk": world.report.pk},
            "api-report": {"pk": report_run.pk},
        },
    }


def is_allowed(need: Need, who: str, *, is_dark: bool) -> bool:
    everywhere, granted = PEOPLE[who]
    if need.where == PUBLIC:
        return who not in DEAD
    if need.people_only and who in TOKENS:
        return False
    if need.where == OWN:
        return everywhere >= 0
    # Both flows lead from the same source.
    on_source = max(everywhere, granted) if everywhere >= 1 or not is_dark else 0
    reached = {
        SOURCE: on_source,
        ANYWHERE: max(everywhere, granted),
        HERE: everywhere if is_dark else granted,
    }
    return reached.get(need.where, everywhere) >= LEVELS[need.right]


def was_refused(answer) -> bool:
    to_login = answer.status_code == 302 and answer["Location"].startswith("/login/?next=")
    return answer.status_code in {401, 403} or to_login


def ask(client, method: str, path: str, headers, body="{}"):
    form = {} if path.startswith("/api/") else {"data": ""}
    kind = "application/json" if path.startswith("/api/") else "application/x-www-form-urlencoded"
    if method in {"GET", "HEAD"}:
        return client.generic(method, path, headers=headers)
    return client.generic(method, path, form.get("data", body), content_type=kind, headers=headers)


def judge(answer, need: Need | None, who: str, *, is_dark: bool) -> str:
    """Return what is wrong with an answer."""
    if answer.status_code >= 500 and answer.status_code != 503:
        return "it broke"
    if need is None:
        done = answer.status_code in {200, 201, 202, 204}
        return "a method that is not declared" if done else ""
    if is_allowed(need, who, is_dark=is_dark):
        is_there = answer.status_code != 404 or need is MINE or need is MINE_ALONE or need is OPEN
        return "" if is_there and not was_refused(answer) else "was refused"
    hidden = answer.status_code == 404
    return "" if was_refused(answer) or hidden else "was let in"


def walk(world, client, who: str, method: str, *, is_dark: bool, is_curious: bool) -> list[str]:
    """Ask all addresses by one method, and return what is wrong with the answers.

    One walk asks all routes: a client of its own for each of thousands of questions would take minutes.
    A curious person also asks by methods that no route declares.
    """
    headers, objects = headers_of(who, world, client), objects_of(world, is_dark=is_dark)
    wrong = []
    for route in ROUTES:
        needs = EXPECTED[route.name]
        path = route.path(objects)
        if method not in needs and not is_curious:
            continue
        if who in TOKENS and (
            not path.startswith(("/api/", "/metrics")) or route.name == "api-docs"
        ):
            continue
        if is_dark and not (set(route.parameters) & {"alias", "flow_id", "run_id", "pk"}):
            continue
        if route.name in {"login", "logout"} and method != "GET":
            continue
        need = needs.get("GET" if method == "HEAD" else method)
        point = transaction.savepoint()
        with noting_writes(connection) as written:
            answer = ask(client, method, path, headers)
        transaction.savepoint_rollback(point)
        is_told = method == "OPTIONS" and answer.status_code < HTTP_SERVER_ERROR
        problem = "" if is_told else judge(answer, need, who, is_dark=is_dark)
        is_let_in = need is not None and is_allowed(need, who, is_dark=is_dark)
        if not is_let_in and set(written) - NOTED:
            problem = f"{problem}, and it wrote {sorted(set(written) - NOTED)}"
        if problem:
            wrong.append(f"{method} {path} ({route.name}): {answer.status_code}, {problem}")
    return wrong
