"""Every page in both themes and on a narrow screen: readable for all, quiet, kept as a picture."""

from dataclasses import dataclass

import pytest
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from console.availability.drills.models import Drill
from console.availability.placements.models import TopicPlacement
from console.availability.promotion.models import PromotionAction, PromotionPolicy
from console.findings.models import CheckSetting, Incident, Objective
from console.frame.help.chapters import CHAPTERS
from console.notifications.models import NotificationChannel, NotificationRoute
from console.reports.models import Report, ReportRun
from console.schedules.models import Schedule
from console.tracing.extractors.models import StoredExtractor
from console.tracing.replays.models import Redrive
from jobs.spark.analyses.kinds import ANALYSES
from tests.browser.axe import violations
from tests.browser.watching import TOO_WIDE, Watched
from tests.browser.world import RUN

pytestmark = [pytest.mark.browser, pytest.mark.django_db]

FLOW = "flow"
# Likewise those of its failover plan, of a group in it, and of a run that has ended.
PLAN, GROUP_ROW, DRILL = "plan", "group row", "drill"
PLACEMENT = "placement"
SCHEDULE = "schedule"
REPORT, MADE = "report", "report run"
POLICY, ACTION, TRIAL = "policy", "action", "trial"
INCIDENT, SETTING, OBJECTIVE = "incident", "setting", "objective"
ROUTE, CHANNEL = "route", "channel"
EXTRACTOR = "extractor"
REPLAY, REDRIVE = "replay plan", "redrive"
# How each page is reached, by the name of its route. FLOW is the number of the flow.
PLACES = {
    "overview:overview": [],
    "overview:events": [],
    "findings:list": [],
    "findings:incidents": [],
    "findings:incident": [INCIDENT],
    "checks:list": [],
    "checks:settings": [],
    "checks:setting": [SETTING],
    "checks:objectives": [],
    "checks:objective": [OBJECTIVE],
    "checks:maintenance": [],
    "clusters:list": [],
    "clusters:new": [],
    "clusters:detail": ["east"],
    "clusters:brokers": ["east"],
    "clusters:topics": ["east"],
    "clusters:topic": ["east", "payments"],
    "clusters:partitions": ["east"],
    "clusters:groups": ["east"],
    "clusters:group": ["east", "search indexer/eu"],
    "clusters:mirror": ["east"],
    "clusters:settings": ["east"],
    "replication:list": [],
    "replication:new": [],
    "replication:mirror-config": [],
    "replication:detail": [FLOW],
    "replication:partitions": [FLOW],
    "replication:findings": [FLOW],
    "replication:checkpoints": [FLOW],
    "replication:checkpoint-group": [FLOW, "fraud-scoring"],
    "replication:translate": [FLOW],
    "replication:runs": [FLOW],
    "replication:control": [FLOW],
    "replication:settings": [FLOW],
    "replication:failover": [FLOW],
    "replication:failover-new": [FLOW],
    "replication:failback-new": [FLOW],
    "replication:failover-plan": [FLOW, PLAN],
    "replication:failover-group": [FLOW, PLAN, GROUP_ROW],
    "replication:failover-run": [FLOW, PLAN, DRILL],
    "quorum:list": [],
    "quorum:import": [],
    "quorum:detail": ["east"],
    "quorum:voters": ["east"],
    "quorum:partitions": ["east"],
    "quorum:brokers": ["east"],
    "quorum:settings": ["east"],
    "quorum:state": ["east"],
    "quorum:advisor": ["east"],
    "quorum:log": ["east"],
    "quorum:record": ["east", 600],
    "availability:list": [],
    "availability:detail": ["east"],
    "availability:partitions": ["east"],
    "availability:partition": ["east", "orders", 0],
    "availability:brokers": ["east"],
    "availability:observers": ["east"],
    "availability:placements": ["east"],
    "availability:new-placement": ["east"],
    "availability:placement": ["east", PLACEMENT],
    "availability:what-if": ["east"],
    "availability:matrix": ["east"],
    "availability:controller-sites": ["east"],
    "availability:designer": ["east"],
    "availability:promotion": ["east"],
    "availability:new-promotion-policy": ["east"],
    "availability:promotion-policy": ["east", POLICY],
    "availability:promotion-action": ["east", ACTION],
    "availability:drills": ["east"],
    "availability:record-drill": ["east"],
    "availability:drill": ["east", TRIAL],
    "availability:runbooks": ["east"],
    "streams:list": [],
    "streams:detail": ["east", "shop"],
    "streams:balance": ["east", "shop"],
    "streams:description": ["east", "shop"],
    "streams:rebalances": ["east", "shop"],
    "streams:probes": ["east", "shop"],
    "streams:key-lookup": ["east", "shop"],
    "tracing:extractors": ["east"],
    "tracing:new-extractor": ["east"],
    "tracing:extractor": ["east", EXTRACTOR],
    "tracing:record": ["east", "orders", 0, 12],
    "tracing:redrives": ["east"],
    "tracing:new-redrive": ["east", REPLAY],
    "tracing:redrive": ["east", REDRIVE],
    "runs:list": [],
    "runs:new": [],
    "runs:new-analysis": [next(iter(ANALYSES), "none")],
    "runs:detail": [RUN],
    "runs:engines": [],
    "runs:engine": ["flows-0a1b2c3d4e5f"],
    "schedules:list": [],
    "schedules:new": [],
    "schedules:detail": [SCHEDULE],
    "schedules:settings": [SCHEDULE],
    "reports:list": [],
    "reports:runs": [],
    "reports:kinds": [],
    "reports:new": ["availability"],
    "reports:detail": [REPORT],
    "reports:settings": [REPORT],
    "reports:run": [MADE],
    "delivery:list": [],
    "notifications:routes": [],
    "notifications:new-route": [],
    "notifications:route": [ROUTE],
    "notifications:channels": [],
    "notifications:new-channel": ["webhook"],
    "notifications:channel": [CHANNEL],
    "help:list": [],
    "help:chapter": ["operate"],
    "accounts:people": [],
    "accounts:new-person": [],
    "accounts:person": ["person"],
    "accounts:tokens": [],
    "accounts:password": [],
    "accounts:audit": [],
}
# Routes that are no page: they act on a POST, answer a script, or lead to somebody else's page.
NOT_PAGES = {
    "login", "logout", "healthz", "readyz", "frame:search", "frame:sidebar", "overview:series", "metrics:scrape", "help:file",
    "findings:acknowledge-incident", "findings:silence-incident", "findings:unsilence-incident",
    "findings:set-incident-owner", "findings:set-incident-note",
    "checks:new-setting", "checks:remove-setting", "checks:remove-objective", "checks:new-window", "checks:preview-window", "checks:remove-window",
    "clusters:check", "clusters:confirm", "clusters:delete", "quorum:forget", "quorum:read",
    "replication:preview", "replication:start", "replication:stop", "replication:delete",
    "replication:accept-topics", "replication:pause", "replication:resume", "replication:restart",
    "replication:failover-refresh", "replication:failover-rehearse", "replication:failover-apply",
    "replication:failover-undo", "replication:failover-csv",
    # A document of its own, which tests/browser/test_failover.py opens.
    "replication:failover-report",
    "availability:remove-placement", "tracing:remove-extractor",
    "availability:remove-promotion-policy", "availability:plan-promotion", "availability:apply-promotion",
    "availability:revert-promotion", "availability:stop-promotions", "availability:allow-promotions",
    "availability:stop-all-promotions", "availability:allow-all-promotions", "availability:start-drill",
    "tracing:apply-redrive", "tracing:stop-redrive",
    "runs:cancel", "runs:roll-engine", "runs:csv", "runs:parquet",
    "reports:file", "reports:chart", "reports:remove", "reports:run-now", "reports:delete",
    "delivery:test", "delivery:retry",
    "notifications:delete-route", "notifications:test-channel", "notifications:delete-channel",
    "schedules:preview", "schedules:run", "schedules:set-enabled", "schedules:delete",
    "accounts:oidc", "accounts:oidc-back", "accounts:revoke-token", "accounts:grant",
    "accounts:set-active", "accounts:reset-password", "accounts:unlock",
}  # fmt: skip


@dataclass(frozen=True)
class Odd:
    """A page that is no route of its own: an error, or a page of a person with little to see."""

    path: str
    role: str | None = "admin"
    expects: str = ""


ODD_PAGES = {
    "login": Odd("/login/", None, "Sign in"),
    "not-found": Odd("/clusters/nowhere/", "admin", "Nothing is here"),
    "no-permission": Odd("/clusters/new/", "viewer", "Not allowed"),
    "overview-viewer": Odd("/", "viewer", "Overview"),
    "flow-viewer": Odd("/replication/1/", "viewer", "orders to west"),
    "cluster-unreachable": Odd("/clusters/north/", "admin", "no broker answered"),
    "filter-without-rows": Odd("/clusters/east/topics/?q=nothing", "admin", "Nothing fits"),
    "translated-offset": Odd(
        "/replication/1/translate/?direction=forward&topic=orders&partition=0&offset=5",
        "admin",
        "no offset sync",
    ),
    "quorum-never-read": Odd("/quorum/north/", "admin", "Not described yet"),
    "partition-history": Odd(
        "/quorum/east/partitions/?topic=orders&partition=0", "admin", "orders-0"
    ),
    "difference": Odd("/quorum/east/state/?at=10&compare=700", "admin", "From offset 10 to 700"),
    "voter-change": Odd("/quorum/east/advisor/?remove=3", "admin", "Remove voter 3"),
    "site-lost": Odd(
        "/availability/east/what-if/?steps=lose:rack:dc-c;unclean", "admin", "Loss of rack dc-c"
    ),
    "unknown-broker-lost": Odd(
        "/availability/east/what-if/?steps=lose:broker:99", "admin", "Unknown broker: 99."
    ),
    "placement-designed": Odd(
        "/availability/east/designer/?sites=dc-a+%3D+1%0Adc-b+%3D+2%0Adc-c+%3D+3",
        "admin",
        "Simulated failures",
    ),
    "runbook": Odd(
        "/availability/east/runbooks/?severity=under_min_isr&cause=broker_dead&topic=orders&partition=0",
        "admin",
        "Expected: ",
    ),
    "no-promotion": Odd("/availability/west/promotion/", "admin", "Not evaluated yet"),
    "nothing-placed": Odd("/availability/west/placements/", "admin", "No topic has a placement"),
    "streams-rebalance": Odd("/streams/east/shop/rebalances/?rebalance=2", "admin", "Moved tasks"),
    "streams-compact": Odd("/streams/west/clicks/", "admin", "190-199"),
    "streams-rebalancing": Odd("/streams/west/shop/", "viewer", "shows no tasks"),
    "streams-never-whole": Odd("/streams/west/new/", "admin", "Its tasks are unknown"),
    "report-viewer": Odd("/reports/1/", "viewer", "Weekly"),
    "flow-absolute": Odd("/replication/1/?from=2026-01-01T00:00&to=2026-01-01T06:00", "admin", ""),
    "topic-not-found": Odd("/clusters/east/topics/gone/", "admin", "east has no topic gone"),
} | {f"help-{chapter}": Odd(f"/help/{chapter}/") for chapter in CHAPTERS[1:]}


def route_names(patterns, prefix="") -> set[str]:
    """Return the names of all routes outside the API."""
    found = set()
    for entry in patterns:
        if isinstance(entry, URLPattern) and entry.name:
            found.add(f"{prefix}{entry.name}")
        if isinstance(entry, URLResolver) and not str(entry.pattern).startswith("api/"):
            space = f"{entry.namespace}:" if entry.namespace else ""
            found |= route_names(entry.url_patterns, f"{prefix}{space}")
    return found


def test_every_route_is_looked_at_or_is_no_page():
    assert route_names(get_resolver().url_patterns) == set(PLACES) | NOT_PAGES


@pytest.fixture(scope="module")
def one_page(browser, site):
    """One page of the browser for all pages of the console: another one costs more than to look at it."""
    with browser.new_context(color_scheme="light") as context:
        yield Watched(context.new_page(), site.url)


@pytest.fixture
def reader(one_page):
    one_page.page.set_viewport_size({"width": 1440, "height": 900})
    one_page.page.context.clear_cookies()
    one_page.complaints.clear()
    yield one_page
    # A page that polls after its session is gone would lead the next test to the sign-in.
    one_page.page.goto("about:blank")
    assert one_page.complaints == []


def test_what_people_would_trip_over_is_found(page):
    page.set_content("<html lang=en><title>t</title><main><h1>t</h1><img src=x></main>")
    assert [text.split(":")[0] for text in violations(page)] == ["critical image-alt"]


def test_what_is_wider_than_its_card_or_the_window_is_found(page):
    page.set_content(
        "<!doctype html><html lang=en><title>t</title><main><h1>t</h1>"
        "<div style='overflow: auto'><table style='width: 5000px'><caption>Wide</caption><tr><td>x</table></div>"
        "<p style='width: 5000px'>x</p></main>"
    )
    found = page.evaluate(TOO_WIDE)
    assert "the table Wide is" in found[0]
    assert found[1:] == ["the page is 5008 px wide"]


@pytest.mark.parametrize("name", PLACES)
def test_page_is_readable_for_all(name, reader, site):
    plan = site.flow.failover_plans.first()
    numbers = {
        FLOW: site.flow.pk, "person": site.person().pk, PLAN: plan.pk,
        POLICY: PromotionPolicy.objects.get().pk,
        ACTION: PromotionAction.objects.filter(state="planned").get().pk,
        TRIAL: Drill.objects.get().pk,
        INCIDENT: Incident.objects.get(check_id="broker_down", state="open").pk,
        SETTING: CheckSetting.objects.first().pk, OBJECTIVE: Objective.objects.first().pk,
        PLACEMENT: TopicPlacement.objects.filter(cluster__alias="east").first().pk,
        SCHEDULE: Schedule.objects.first().pk, EXTRACTOR: StoredExtractor.objects.get().pk,
        ROUTE: NotificationRoute.objects.get().pk, CHANNEL: NotificationChannel.objects.get().pk,
        REPORT: Report.objects.get().pk, MADE: ReportRun.objects.filter(state="ready", report__isnull=False).get().pk,
        GROUP_ROW: plan.plan_groups.first().pk, DRILL: plan.failover_runs.first().pk,
        REPLAY: Redrive.objects.get().plan_run_id, REDRIVE: Redrive.objects.get().pk,
    }  # fmt: skip
    reader.sign_in(site.person())
    page = reader.open(reverse(name, args=[numbers.get(arg, arg) for arg in PLACES[name]]))
    assert page.locator("h1").count() == 1
    assert reader.look(name.replace(":", "-")) == []


@pytest.mark.parametrize("name", ODD_PAGES)
def test_page_for_the_odd_case_is_readable_for_all(name, reader, site):
    odd = ODD_PAGES[name]
    if odd.role:
        reader.sign_in(site.person(odd.role))
    ids = {"/replication/1/": site.flow.pk, "/reports/1/": Report.objects.get().pk}
    path = odd.path
    for place, pk in ids.items():
        path = path.replace(place, place.replace("1", str(pk)))
    page = reader.open(path)
    assert odd.expects in page.inner_text("main")
    assert reader.look(name) == []
