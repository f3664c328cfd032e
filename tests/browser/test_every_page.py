"""Every page in both themes and on a narrow screen: readable for all, quiet, kept as a picture."""

from dataclasses import dataclass, field

import pytest
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from console.availability.drills.models import Drill
from console.availability.placements.models import TopicPlacement
from console.availability.promotion.models import PromotionAction, PromotionPolicy
from tests.browser.axe import grave_violations
from tests.browser.world import RUN, fill_cluster, make_person, make_world

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

THEMES = ("light", "dark")
NARROW = {"width": 380, "height": 800}
FLOW = "flow"
# Likewise those of its failover plan, of a group in it, and of a run that has ended.
PLAN, GROUP_ROW, DRILL = "plan", "group row", "drill"
PLACEMENT = "placement"
POLICY, ACTION, TRIAL = "policy", "action", "trial"
# How each page is reached, by the name of its route. FLOW stands for the number of the flow.
PLACES = {
    "overview:overview": [],
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
    "runs:list": [],
    "runs:detail": [RUN],
    "accounts:people": [],
    "accounts:new-person": [],
    "accounts:person": ["person"],
    "accounts:tokens": [],
    "accounts:password": [],
    "accounts:audit": [],
}
# Routes that are no page: they act on a POST, answer a script, or lead to somebody else's page.
NOT_PAGES = {
    "login", "logout", "healthz", "readyz", "frame:jumps", "frame:rail", "metrics:scrape",
    "clusters:check", "clusters:confirm", "clusters:delete", "quorum:forget",
    "replication:preview", "replication:start", "replication:stop", "replication:delete",
    "replication:accept-topics", "replication:pause", "replication:resume", "replication:restart",
    "replication:failover-refresh", "replication:failover-rehearse", "replication:failover-apply",
    "replication:failover-undo", "replication:failover-csv",
    # A document of its own, which tests/browser/test_failover.py opens.
    "replication:failover-report",
    "availability:remove-placement",
    "availability:remove-promotion-policy", "availability:plan-promotion", "availability:apply-promotion",
    "availability:revert-promotion", "availability:stop-promotions", "availability:allow-promotions",
    "availability:stop-all-promotions", "availability:allow-all-promotions", "availability:start-drill",
    "runs:cancel",
    "accounts:oidc", "accounts:oidc-back", "accounts:revoke-token", "accounts:grant",
    "accounts:set-active", "accounts:reset-password", "accounts:unlock",
}  # fmt: skip


@dataclass(frozen=True)
class Odd:
    """A page that is no route of its own: an error, or a page of a person with little to see."""

    path: str
    role: str | None = "admin"
    expects: str = ""
    has: str = field(default="all", kw_only=True)


ODD_PAGES = {
    "login": Odd("/login/", None, "Sign in"),
    "not-found": Odd("/clusters/nowhere/", "admin", "Nothing is here"),
    "no-permission": Odd("/clusters/new/", "viewer", "Not allowed"),
    "overview-viewer": Odd("/", "viewer", "What is going on"),
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
    "difference": Odd("/quorum/east/state/?at=10&to=700", "admin", "From offset 10 to 700"),
    "voter-change": Odd("/quorum/east/advisor/?remove=3", "admin", "Remove voter 3"),
    "site-lost": Odd(
        "/availability/east/what-if/?steps=lose:rack:dc-c;unclean", "admin", "Loss of rack dc-c"
    ),
    "unknown-broker-lost": Odd(
        "/availability/east/what-if/?steps=lose:broker:99", "admin", "There is no broker 99"
    ),
    "placement-designed": Odd(
        "/availability/east/designer/?sites=dc-a+%3D+1%0Adc-b+%3D+2%0Adc-c+%3D+3",
        "admin",
        "The proposal",
    ),
    "runbook": Odd(
        "/availability/east/runbooks/?severity=under_min_isr&cause=broker_dead&topic=orders&partition=0",
        "admin",
        "It worked when",
    ),
    "no-promotion": Odd("/availability/west/promotion/", "admin", "Not judged yet"),
    "nothing-placed": Odd("/availability/west/placements/", "admin", "No topic has a placement"),
    "flow-absolute": Odd("/replication/1/?from=2026-01-01T00:00&to=2026-01-01T06:00", "admin", ""),
    "first-overview": Odd("/", "admin", "first copied record", has="nothing"),
    "topic-not-found": Odd("/clusters/east/topics/gone/", "admin", "east has no topic gone"),
    "first-overview-viewer": Odd("/", "viewer", "role admin", has="nothing"),
    "second-overview": Odd("/", "admin", "Add the other cluster", has="one cluster"),
    "first-clusters": Odd("/clusters/", "admin", "No cluster yet", has="nothing"),
    "first-flows": Odd("/replication/", "admin", "two clusters", has="nothing"),
    "first-new-flow": Odd("/replication/new/", "admin", "two clusters", has="nothing"),
    "first-runs": Odd("/runs/", "admin", "Nothing has run yet", has="nothing"),
}


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


def look(watched, name: str) -> list[str]:
    """Return what is wrong with the page that is open, in both themes and on a narrow screen."""
    page, found = watched.page, []
    for theme in THEMES:
        page.emulate_media(color_scheme=theme)
        watched.keep_picture(f"pages/{name}-{theme}")
        with watched.unheard():
            found += [f"{theme}: {problem}" for problem in grave_violations(page)]
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(NARROW)
    watched.keep_picture(f"pages/{name}-narrow")
    width = page.evaluate("document.documentElement.scrollWidth")
    if width > NARROW["width"]:
        found.append(f"narrow: the page is {width} px wide")
    return found


def test_what_people_would_trip_over_is_found(page):
    page.set_content("<html lang=en><title>t</title><main><h1>t</h1><img src=x></main>")
    assert [text.split(":")[0] for text in grave_violations(page)] == ["critical image-alt"]


@pytest.mark.parametrize("name", PLACES)
def test_page_is_readable_for_all(name, watched):
    person = make_person()
    flow = make_world(timezone.now())
    plan = flow.failover_plans.first()
    numbers = {
        FLOW: flow.pk, "person": person.pk, PLAN: plan.pk,
        POLICY: PromotionPolicy.objects.get().pk,
        ACTION: PromotionAction.objects.filter(state="planned").get().pk,
        TRIAL: Drill.objects.get().pk,
        PLACEMENT: TopicPlacement.objects.filter(cluster__alias="east").first().pk,
        GROUP_ROW: plan.plan_groups.first().pk, DRILL: plan.failover_runs.first().pk,
    }  # fmt: skip
    watched.sign_in(person)
    page = watched.open(reverse(name, args=[numbers.get(arg, arg) for arg in PLACES[name]]))
    assert page.locator("h1").count() == 1
    assert look(watched, name.replace(":", "-")) == []


@pytest.mark.parametrize("name", ODD_PAGES)
def test_page_for_the_odd_case_is_readable_for_all(name, watched):
    odd = ODD_PAGES[name]
    flow = make_world(timezone.now()) if odd.has == "all" else None
    if odd.has == "one cluster":
        fill_cluster("east", timezone.now(), is_well=True)
    if odd.role:
        watched.sign_in(make_person(odd.role))
    path = odd.path.replace("/replication/1/", f"/replication/{flow.pk}/") if flow else odd.path
    page = watched.open(path)
    assert odd.expects in page.inner_text("main")
    assert look(watched, name) == []
