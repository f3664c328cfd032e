"""Every page has its route and every route its page: one table, checked from both sides."""

import html
import re

import pytest
from django.urls import get_resolver
from django.utils import timezone

from console.clusters.models import Group
from console.replication.failover import actions
from console.replication.flows.models import GroupReadiness
from tests.console.api.operations import OPERATIONS
from tests.console.availability.making import make_available
from tests.console.availability.placed_world import make_rule
from tests.console.availability.promotion_world import fill_promotion
from tests.console.checks.making import make_objective, make_setting
from tests.console.delivery.making import make_report_run
from tests.console.making import NOW, make_flow, make_partition, make_run, make_topic, make_user
from tests.console.notifications.making import make_route
from tests.console.quorum.making import make_quorum
from tests.console.replication.failover_world import PaperClusters, carry_out, make_plan
from tests.console.reports.making.worlds import make_report
from tests.console.runs.engine_rows import make_engine
from tests.console.schedules.making import make_schedule
from tests.console.streams.making import make_streams
from tests.console.tracing.making import make_extractor
from tests.console.tracing.replays.making import make_redrive

pytestmark = pytest.mark.slow

V1 = "/api/v1/"
# What a person can do in a page, by the name of its address: the routes that do the same.
ROUTES_OF_PAGES = {
    "overview:overview": {"GET clusters/", "GET flows/"},
    "findings:list": {"GET findings/"}, "findings:incidents": {"GET incidents/"},
    "findings:incident": {"GET incidents/{id}/"},
    "findings:acknowledge-incident": {
        "POST incidents/{id}/acknowledge/", "POST incidents/{id}/unacknowledge/"
    },
    "findings:silence-incident": {"POST incidents/{id}/silence/"}, "findings:unsilence-incident": {"POST incidents/{id}/unsilence/"},
    "findings:set-incident-owner": {"PATCH incidents/{id}/"}, "findings:set-incident-note": {"PATCH incidents/{id}/"},
    "checks:list": {"GET checks/", "GET checks/{id}/"}, "checks:settings": {"GET check-settings/"},
    "checks:new-setting": {"POST check-settings/"},
    "checks:setting": {"GET check-settings/", "GET check-settings/{id}/", "PATCH check-settings/{id}/"},
    "checks:remove-setting": {"DELETE check-settings/{id}/"},
    "checks:objectives": {"GET objectives/", "POST objectives/"},
    "checks:objective": {"GET objectives/{id}/", "PATCH objectives/{id}/"},
    "checks:remove-objective": {"DELETE objectives/{id}/"},
    "checks:maintenance": {"GET maintenance-windows/", "GET maintenance-windows/{id}/"},
    "checks:new-window": {"POST maintenance-windows/"}, "checks:remove-window": {"DELETE maintenance-windows/{id}/"},
    "clusters:list": {"GET clusters/"},
    "clusters:new": {"POST clusters/", "POST clusters/check/"},
    "clusters:detail": {
        "GET clusters/{alias}/", "GET clusters/{alias}/capabilities/", "GET clusters/{alias}/freshness/",
    },
    "clusters:brokers": {"GET brokers/"},
    "clusters:topics": {"GET topics/"},
    "clusters:topic": {"GET partitions/"},
    "clusters:partitions": {"GET partitions/"},
    "clusters:groups": {"GET groups/"},
    "clusters:group": {"GET group-offsets/"},
    "clusters:mirror": {"GET clusters/{alias}/mirror/", "GET clusters/{alias}/mirror/consumer-offsets/"},
    "clusters:settings": {"PATCH clusters/{alias}/"},
    "clusters:check": {"POST clusters/{alias}/check/"}, "clusters:confirm": {"POST clusters/{alias}/confirm-cluster-id/"},
    "clusters:delete": {"DELETE clusters/{alias}/"},
    "replication:list": {"GET flows/"}, "replication:new": {"POST flows/"},
    "replication:preview": {"POST flows/preview/", "POST flows/preview/capabilities/", "GET naming-policies/"},
    "replication:mirror-config": {"POST mirror-config/"},
    "replication:detail": {
        "GET flows/{id}/", "GET flows/{id}/topics/", "GET flows/{id}/series/", "GET flows/{id}/readiness/",
    },
    "replication:checkpoints": {
        "GET flows/{id}/checkpoints/", "GET flows/{id}/readiness/", "GET flows/{id}/checkpoint-series/",
    },
    "replication:checkpoint-group": {"GET flows/{id}/checkpoints/", "GET flows/{id}/checkpoint-series/"},
    "replication:translate": {"GET flows/{id}/translate/", "POST flows/{id}/translate/"},
    "replication:partitions": {"GET flows/{id}/partitions/"},
    "replication:findings": {"GET flows/{id}/findings/"}, "replication:runs": {"GET runs/"},
    "replication:settings": {"PATCH flows/{id}/"},
    "replication:start": {"POST flows/{id}/start/"}, "replication:stop": {"POST flows/{id}/stop/"}, "replication:delete": {"DELETE flows/{id}/"},
    "replication:accept-topics": {"POST flows/{id}/accept-topics/"},
    "replication:control": {"GET flows/{id}/control/", "PATCH flows/{id}/control/"},
    "replication:pause": {"POST flows/{id}/pause/"},
    "replication:resume": {"POST flows/{id}/resume/"},
    "replication:restart": {"POST flows/{id}/restart/"},
    "replication:failover": {"GET flows/{id}/failover-plans/"},
    "replication:failover-new": {"POST flows/{id}/failover-plans/"},
    "replication:failback-new": {"POST flows/{id}/failover-plans/"},
    "replication:failover-plan": {
        "GET flows/{id}/failover-plans/{id}/", "GET flows/{id}/failover-plans/{id}/groups/",
        "GET flows/{id}/failover-plans/{id}/runs/",
    },
    "replication:failover-group": {"GET flows/{id}/failover-plans/{id}/groups/"},
    "replication:failover-csv": {"GET flows/{id}/failover-plans/{id}/commands/"},
    "replication:failover-refresh": {"POST flows/{id}/failover-plans/{id}/refresh/"},
    "replication:failover-rehearse": {"POST flows/{id}/failover-plans/{id}/rehearse/"},
    "replication:failover-apply": {"POST flows/{id}/failover-plans/{id}/apply/"},
    "replication:failover-undo": {"POST flows/{id}/failover-plans/{id}/undo/"},
    "replication:failover-run": {
        "GET flows/{id}/failover-plans/{id}/runs/", "GET flows/{id}/failover-plans/{id}/report/",
        "GET report-key/",
    },
    "replication:failover-report": {"GET flows/{id}/failover-plans/{id}/report/"},
    "quorum:list": {"GET quorum/"}, "quorum:import": {"GET quorum/imports/", "POST quorum/imports/"},
    "quorum:forget": {"DELETE quorum/imports/{alias}/"},
    "quorum:read": {"POST quorum/imports/{alias}/read/"},
    "quorum:detail": {"GET quorum/{alias}/", "GET quorum/{alias}/findings/"},
    "quorum:voters": {"GET quorum/voter-sets/", "GET quorum/elections/"},
    "quorum:partitions": {"GET partition-changes/"},
    "quorum:brokers": {"GET metadata-changes/"},
    "quorum:settings": {"GET metadata-changes/"},
    "quorum:state": {"GET quorum/{alias}/state/", "GET quorum/{alias}/diff/"},
    "quorum:advisor": {"GET quorum/{alias}/advice/"},
    "quorum:log": {"GET metadata-changes/"},
    "quorum:record": {"GET quorum/{alias}/records/"},
    "availability:list": {"GET availability/"},
    "availability:detail": {
        "GET availability/{alias}/", "GET availability/{alias}/series/", "GET availability/rollups/",
        "GET availability/out-of-sync/", "GET availability/stretches/",
        "GET availability/unclean-elections/",
    },
    "availability:partitions": {"GET availability/partitions/"},
    "availability:partition": {"GET availability/partitions/{id}/history/"},
    "availability:brokers": {
        "GET availability/brokers/", "GET availability/rollups/", "GET availability/{alias}/series/",
    },
    "availability:observers": {"GET observers/"},
    "availability:placements": {"GET placements/", "GET placements/topics/"},
    "availability:new-placement": {"POST placements/", "POST placements/preview/", "GET placements/"},
    "availability:placement": {
        "GET placements/{id}/", "PATCH placements/{id}/", "POST placements/preview/",
    },
    "availability:remove-placement": {"DELETE placements/{id}/"},
    "availability:what-if": {"GET what-if/", "POST what-if/"}, "availability:matrix": {"GET what-if/matrix/"},
    "availability:controller-sites": {"GET controller-sites/", "POST controller-sites/"},
    "availability:designer": {"POST placement-designs/"},
    "availability:promotion": {
        "GET promotion-actions/", "GET promotion-policies/", "GET promotion-actors/", "GET observer-events/",
        "GET promotion-findings/", "GET promotion-stop/",
    },
    "availability:new-promotion-policy": {"POST promotion-policies/"},
    "availability:promotion-policy": {"GET promotion-policies/{id}/", "PATCH promotion-policies/{id}/"},
    "availability:remove-promotion-policy": {"DELETE promotion-policies/{id}/"},
    "availability:promotion-action": {"GET promotion-actions/{id}/"},
    "availability:plan-promotion": {"POST promotion-actions/{id}/plan/"}, "availability:apply-promotion": {"POST promotion-actions/{id}/apply/"},
    "availability:revert-promotion": {"POST promotion-actions/{id}/revert/"},
    "availability:stop-promotions": {"POST promotion-stop/"}, "availability:allow-promotions": {"POST promotion-stop/"},
    "availability:stop-all-promotions": {"POST promotion-stop/"}, "availability:allow-all-promotions": {"POST promotion-stop/"},
    "availability:drills": {"GET drills/"}, "availability:start-drill": {"POST drills/"},
    "availability:record-drill": {"POST drills/"}, "availability:drill": {"GET drills/{id}/"},
    "availability:runbooks": {"GET runbooks/"}, "streams:list": {"GET streams/"},
    "streams:detail": {"GET streams/{application_id}/", "GET streams/{application_id}/tasks/", "GET flows/{id}/readiness/"},
    "streams:balance": {"GET streams/{application_id}/balance/"}, "streams:rebalances": {"GET streams/{application_id}/rebalances/"},
    "streams:description": {"PUT streams/{application_id}/description/"}, "streams:probes": {"POST streams/{application_id}/probes/"},
    "streams:key-lookup": {"POST streams/{application_id}/key-lookup/"}, "tracing:extractors": {"GET extractors/"}, "tracing:remove-extractor": {"DELETE extractors/{id}/"},
    "tracing:new-extractor": {"POST extractors/", "POST extractors/try/", "GET extractors/"},
    "tracing:extractor": {"GET extractors/{id}/", "PUT extractors/{id}/"}, "tracing:record": {"POST extractors/record/"},
    "tracing:redrives": {"GET redrives/"}, "tracing:new-redrive": {"POST redrives/"}, "tracing:redrive": {"GET redrives/{id}/"},
    "tracing:apply-redrive": {"POST redrives/{id}/apply/"}, "tracing:stop-redrive": {"POST redrives/{id}/stop/"},
    "runs:engines": {"GET engines/"}, "runs:engine": {"GET engines/{id}/"}, "runs:roll-engine": {"POST engines/{id}/roll/"},
    "runs:list": {"GET runs/"}, "runs:new": {"GET runs/kinds/"},
    "runs:new-analysis": {"POST runs/", "POST runs/files/"},
    "runs:detail": {
        "GET runs/{id}/", "GET runs/{id}/log/", "GET runs/{id}/result/", "GET runs/{id}/tables/{table}/",
    },
    "runs:cancel": {"POST runs/{id}/cancel/"}, "runs:csv": {"GET runs/{id}/tables/{table}/csv/"},
    "runs:parquet": {"GET runs/{id}/tables/{table}/parquet/"},
    "schedules:list": {"GET schedules/"}, "schedules:new": {"POST schedules/"}, "schedules:detail": {"GET schedules/{id}/"},
    "schedules:settings": {"PATCH schedules/{id}/"},
    "schedules:run": {"POST schedules/{id}/run/"}, "schedules:set-enabled": {"PATCH schedules/{id}/"},
    "schedules:delete": {"DELETE schedules/{id}/"},
    "delivery:list": {"GET deliveries/"}, "delivery:test": {"POST deliveries/test/"}, "delivery:retry": {"POST deliveries/{id}/retry/"},
    "notifications:routes": {"GET notification-routes/"},
    "notifications:new-route": {"POST notification-routes/"},
    "notifications:route": {"GET notification-routes/{id}/", "PATCH notification-routes/{id}/"},
    "notifications:delete-route": {"DELETE notification-routes/{id}/"},
    "notifications:channels": {"GET notification-channels/"},
    "notifications:new-channel": {"POST notification-channels/"},
    "notifications:channel": {"GET notification-channels/{id}/", "PATCH notification-channels/{id}/"},
    "notifications:test-channel": {"POST notification-channels/{id}/test/"},
    "notifications:delete-channel": {"DELETE notification-channels/{id}/"},
    "reports:list": {"GET reports/"}, "reports:runs": {"GET report-runs/"},
    "reports:run": {"GET report-runs/{id}/"}, "reports:file": {"GET report-runs/{id}/files/{file_format}/"},
    "reports:remove": {"DELETE report-runs/{id}/"}, "reports:new": {"POST reports/", "POST report-runs/"},
    "reports:detail": {"GET reports/{id}/", "GET reports/{id}/runs/"},
    "reports:settings": {"PATCH reports/{id}/"}, "reports:run-now": {"POST reports/{id}/runs/"},
    "reports:delete": {"DELETE reports/{id}/"},
    "accounts:tokens": {"GET tokens/", "POST tokens/"}, "accounts:revoke-token": {"DELETE tokens/{id}/"},
    "accounts:people": {"GET people/"}, "accounts:new-person": {"POST people/"},
    "accounts:person": {"GET people/{id}/", "PATCH people/{id}/"},
    "accounts:grant": {"POST people/{id}/grant/"}, "accounts:set-active": {"PATCH people/{id}/"},
    "accounts:reset-password": {"POST people/{id}/reset-password/"},
    "accounts:unlock": {"POST people/{id}/unlock/"}, "accounts:audit": {"GET audit-trail/"},
}  # fmt: skip
# Addresses that are no page about Kafka, and why they need no route.
WITHOUT_ROUTE = {
    "healthz": "for probes",
    "readyz": "for probes",
    "metrics:scrape": "for Prometheus",
    "api-schema": "is the API",
    "help:list": "documents are no data of the console",
    "help:chapter": "documents are no data of the console",
    "help:file": "documents are no data of the console",
    "login": "a session of a browser; programs have tokens",
    "logout": "likewise",
    "accounts:oidc": "likewise",
    "accounts:oidc-back": "likewise",
    "accounts:password": "only a person has a password",
    "checks:preview-window": "a window itself says its next starts",
    "schedules:preview": "a schedule itself says its next times",
    "reports:kinds": "kinds are words of the schema",
    "reports:chart": "a drawing; the document has its numbers",
    "overview:events": "it is read from lists of the API: metadata changes, elections, runs, the audit log",
    "overview:series": "flows and clusters have series of their own",
    "frame:search": "finds pages, not things",
    "frame:sidebar": "counts what the lists of the API say",
}
SHOWN = [
    ("overview:overview", "/"),
    ("findings:list", "/findings/"),
    ("findings:incidents", "/incidents/"),
    ("checks:list", "/checks/"),
    ("checks:settings", "/checks/settings/"),
    ("checks:setting", "/checks/settings/{setting}/"),
    ("checks:objectives", "/objectives/"),
    ("checks:objective", "/objectives/{objective}/"),
    ("checks:maintenance", "/checks/maintenance/"),
    ("clusters:list", "/clusters/"),
    ("clusters:detail", "/clusters/east/"),
    ("clusters:brokers", "/clusters/east/brokers/"),
    ("clusters:topics", "/clusters/east/topics/"),
    ("clusters:topic", "/clusters/east/topics/orders/"),
    ("clusters:partitions", "/clusters/east/partitions/"),
    ("clusters:groups", "/clusters/east/groups/"),
    ("clusters:group", "/clusters/east/groups/billing/"),
    ("clusters:mirror", "/clusters/east/mirror/"),
    ("replication:list", "/replication/"),
    ("replication:detail", "/replication/{flow}/"),
    ("replication:partitions", "/replication/{flow}/partitions/"),
    ("replication:findings", "/replication/{flow}/findings/"),
    ("replication:checkpoints", "/replication/{flow}/checkpoints/"),
    ("replication:checkpoint-group", "/replication/{flow}/checkpoints/billing/"),
    ("replication:runs", "/replication/{flow}/runs/"),
    ("replication:control", "/replication/{flow}/control/"),
    ("replication:failover", "/replication/{flow}/failover/"),
    ("replication:failover-plan", "/replication/{flow}/failover/{plan}/"),
    ("replication:failover-group", "/replication/{flow}/failover/{plan}/groups/{group}/"),
    ("replication:failover-run", "/replication/{flow}/failover/{plan}/runs/{failover}/"),
    ("quorum:list", "/quorum/"),
    ("quorum:detail", "/quorum/east/"),
    ("quorum:voters", "/quorum/east/voters/"),
    ("quorum:partitions", "/quorum/east/partitions/?topic=orders&partition=0"),
    ("quorum:brokers", "/quorum/east/brokers/"),
    ("quorum:settings", "/quorum/east/settings/"),
    ("quorum:state", "/quorum/east/state/?at=10&to=700"),
    ("quorum:advisor", "/quorum/east/advisor/?remove=3"),
    ("quorum:log", "/quorum/east/log/?topic=orders"),
    ("quorum:record", "/quorum/east/records/600/"),
    ("availability:list", "/availability/"),
    ("availability:detail", "/availability/east/"),
    ("availability:partitions", "/availability/east/partitions/"),
    ("availability:partition", "/availability/east/partitions/orders/0/"),
    ("availability:brokers", "/availability/east/brokers/"),
    ("availability:observers", "/availability/east/observers/"),
    ("availability:placements", "/availability/east/placements/"),
    ("availability:new-placement", "/availability/east/placements/new/"),
    ("availability:placement", "/availability/east/placements/{placement}/"),
    ("availability:what-if", "/availability/east/what-if/"),
    ("availability:what-if", "/availability/east/what-if/?steps=unclean&sites=1=west"),
    ("availability:matrix", "/availability/east/what-if/matrix/"),
    ("availability:controller-sites", "/availability/east/what-if/controllers/"),
    ("availability:promotion", "/availability/east/promotion/"),
    ("availability:promotion-policy", "/availability/east/promotion/policies/{policy}/"),
    ("availability:promotion-action", "/availability/east/promotion/actions/{action}/"),
    ("availability:drills", "/availability/east/drills/"),
    ("availability:drill", "/availability/east/drills/{drill}/"),
    ("availability:runbooks", "/availability/east/runbooks/?severity=offline"),
    ("streams:list", "/streams/"),
    ("streams:detail", "/streams/east/shop/"),
    ("streams:balance", "/streams/east/shop/balance/"),
    ("tracing:extractors", "/clusters/east/extractors/"),
    ("tracing:new-extractor", "/clusters/east/extractors/new/"),
    ("tracing:extractor", "/clusters/east/extractors/{extractor}/"),
    ("tracing:redrives", "/clusters/east/redrives/"),
    ("tracing:redrive", "/clusters/east/redrives/{redrive}/"),
    ("runs:list", "/runs/"),
    ("runs:new", "/runs/new/"),
    ("runs:detail", "/runs/{run}/"),
    ("runs:engines", "/runs/engines/"),
    ("runs:engine", "/runs/engines/{engine}/"),
    ("schedules:list", "/schedules/"),
    ("schedules:detail", "/schedules/{schedule}/"),
    ("reports:list", "/reports/"),
    ("reports:runs", "/reports/made/"),
    ("reports:detail", "/reports/{report}/"),
    ("reports:run", "/reports/made/{report_run}/"),
    ("delivery:list", "/deliveries/"),
    ("notifications:routes", "/notifications/"),
    ("notifications:route", "/notifications/{route}/"),
    ("notifications:channels", "/notifications/channels/"),
    ("notifications:channel", "/notifications/channels/{channel}/"),
    ("accounts:audit", "/audit/"),
]


def page_names(patterns, space=""):
    for pattern in patterns:
        if hasattr(pattern, "url_patterns"):
            yield from page_names(pattern.url_patterns, pattern.namespace or space)
        else:
            yield f"{space}:{pattern.name}" if space else pattern.name


def routes():
    return {
        f"{method.upper()} {path.removeprefix(V1).replace('{flow_id}', '{id}')}"
        for method, path in (one.values for one in OPERATIONS)
    }


def as_route(call):
    """`GET /api/v1/flows/12/topics/?x=y` -> `GET flows/{id}/topics/`"""
    method, path = html.unescape(call).split()
    path = re.sub(r"/clusters/[^/]+/", "/clusters/{alias}/", path.partition("?")[0])
    path = re.sub(r"/quorum/(?!voter-sets|elections|imports)[^/]+/", "/quorum/{alias}/", path)
    path = re.sub(r"/availability/(?=east/)[^/]+/", "/availability/{alias}/", path)
    path = re.sub(r"/availability/partitions/\d+/", "/availability/partitions/{id}/", path)
    path = re.sub(r"/streams/[^/]+/", "/streams/{application_id}/", path)
    path = re.sub(r"/engines/[^/]+/", "/engines/{id}/", path)
    path = re.sub(
        r"/(check-settings|objectives|maintenance-windows|flows|runs|people|tokens|failover-plans|placements|promotion-policies|promotion-actions|drills|extractors|redrives|schedules|reports|report-runs|deliveries|notification-routes|notification-channels)/[0-9a-f-]+(?=/)",
        r"/\1/{id}",
        path,
    )
    return f"{method} {path.removeprefix(V1)}"


def test_every_page_has_its_routes():
    pages = {name for name in page_names(get_resolver().url_patterns) if "api-" not in name}
    assert pages - set(WITHOUT_ROUTE) == set(ROUTES_OF_PAGES)


def test_every_route_has_its_page():
    assert set().union(*ROUTES_OF_PAGES.values()) == routes()


@pytest.fixture
def numbers(sign_in, admin):
    flow = make_flow()
    make_topic(flow.source, "orders"), make_partition(flow)
    for make in (make_quorum, make_available, make_streams):
        make(flow.source)
    Group.objects.create(cluster=flow.source, group_id="billing", changed_at=NOW)
    GroupReadiness.objects.create(flow=flow, group="billing", since=NOW, updated_at=NOW)
    sign_in(admin)
    plan = make_plan(flow)
    run = actions.rehearse_plan(plan, None, timezone.now())
    carry_out(run, PaperClusters())
    failover = {"plan": plan.pk, "group": plan.plan_groups.get().pk, "failover": run.pk}
    failover |= {"placement": make_rule(flow.source, "orders").pk}
    failover |= {"extractor": make_extractor(flow.source).pk}
    action = fill_promotion(flow.source)
    drill = flow.source.drills.get()
    failover |= {"action": action.pk, "policy": action.policy_id, "drill": drill.pk}
    route = make_route()
    failover |= {"route": route.pk, "channel": route.channels.get().pk}
    return {"flow": flow.pk, "run": make_run(flow).pk, **failover} | {
        "schedule": make_schedule(None).pk,
        "setting": make_setting().pk,
        "objective": make_objective(flow.source).pk,
        "redrive": make_redrive(flow.source).pk,
        "report": make_report(make_user()).pk,
        "engine": make_engine().pk,
        "report_run": make_report_run().pk,
    }


# What is copied of a GET: a command that runs, with the host of the console.
COPIED_GET = (
    r'data-copy="curl -H &quot;Authorization: Bearer \$CROSSLOG_TOKEN&quot; '
    r'&#x27;http://testserver(/api/v1/[^"]*?)&#x27;"'
)


@pytest.mark.django_db
@pytest.mark.parametrize(("name", "address"), SHOWN)
def test_a_page_shows_its_route(client, numbers, name, address):
    answer = client.get(address.format(**numbers))
    calls = re.findall(COPIED_GET, answer.content.decode())
    assert calls
    assert {as_route(f"GET {call}") for call in calls} <= ROUTES_OF_PAGES[name]


@pytest.mark.django_db
@pytest.mark.parametrize(("name", "address"), SHOWN)
def test_the_route_that_a_page_shows_answers(client, numbers, name, address):
    page = client.get(address.format(**numbers)).content.decode()
    for call in re.findall(COPIED_GET, page):
        assert client.get(html.unescape(call)).status_code == 200, call
