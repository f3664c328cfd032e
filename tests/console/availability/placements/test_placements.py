"""Placements: which one counts, what saving one means, who may, and what is refused at which field."""

import json

import pytest

from console.accounts.models import AuditEntry, Outcome
from console.availability.placements.models import TopicPlacement
from console.availability.placements.placements import (
    CONFIG,
    Origin,
    PlacementRules,
    Proposed,
    check_pattern,
    rules_of,
)
from jobs.availability.placements.placement import parse_placement
from tests.console.availability.placed_world import (
    document,
    make_placed,
    make_rule,
    make_sites,
)

pytestmark = pytest.mark.django_db

WEST = document({"west": 2})
BOTH = document({"west": 1, "east": 1})
API = "/api/v1/placements/"
EVIL = "(.|.|.|.|.|.|.|.|.|.|.|.)*X"


@pytest.fixture
def cluster():
    return make_sites()


@pytest.fixture
def api(client, operator):
    client.force_login(operator)

    def ask(method, path, **body):
        return client.generic(
            method, f"{API}{path}", json.dumps(body), content_type="application/json"
        )

    return ask


# --- which one counts ---------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("topic", "config", "counts"),
    [
        ("orders", json.dumps(BOTH), "topic_config"),
        ("orders", "", "orders"),
        ("orders.new", "", "orders.*"),
        ("orders.dead", "", r"orders\..*dead"),
        ("orders.de.dead", "", "orders.de.*"),
        ("clicks", "", "none"),
    ],
    ids=["own config", "exact name", "pattern", "higher priority", "longer pattern", "none"],
)
def test_the_config_counts_first_then_the_name_then_the_pattern(cluster, topic, config, counts):
    make_rule(cluster, "orders")
    make_rule(cluster, "orders.*", kind="glob")
    make_rule(cluster, r"orders\..*dead", kind="regex", priority=3)
    make_rule(cluster, "orders.de.*", kind="glob", priority=3 + (topic == "orders.de.dead"))
    found = rules_of(cluster).of(topic, config)
    assert (found.rule.pattern if found.rule else found.origin.value) == counts


def test_a_config_that_is_no_placement_is_told_and_nothing_else_counts(cluster):
    make_rule(cluster, "orders")
    found = rules_of(cluster).of("orders", '{"version": 1, "replicas": 3}')
    assert (found.placement, found.origin) == (None, Origin.TOPIC_CONFIG)
    assert "replicas" in found.problem


def test_a_proposal_comes_before_everything(cluster):
    make_rule(cluster, "orders")
    proposed = Proposed("glob", "ord*", parse_placement(WEST))
    rules = rules_of(cluster, [proposed])
    assert rules.of("orders", json.dumps(BOTH)).origin is Origin.PROPOSED
    assert rules.of("clicks").origin is Origin.NONE


def test_a_stored_pattern_that_cannot_be_evaluated_fits_nothing_and_the_others_count(cluster):
    make_rule(cluster, "(?!dead).*", kind="regex", priority=9)
    make_rule(cluster, "orders.*", kind="glob")
    rules = rules_of(cluster)
    assert rules.of("orders.eu").rule.pattern == "orders.*"
    (problem,) = rules.problems
    assert "The pattern (?!dead).* of a placement cannot be evaluated" in problem
    assert "look-ahead" in problem


def test_the_page_and_the_route_say_which_stored_pattern_cannot_be_evaluated(
    cluster, api, client, operator
):
    make_rule(cluster, "(?!dead).*", kind="regex")
    assert "look-ahead" in " ".join(api("GET", "topics/?cluster=east").json()["gaps"])
    page = client.get("/availability/east/placements/").content.decode()
    assert "of a placement cannot be evaluated" in page


def test_rules_of_another_cluster_do_not_count(cluster):
    make_rule(make_sites("west"), "orders")
    assert rules_of(cluster).of("orders").origin is Origin.NONE


@pytest.mark.parametrize(
    ("kind", "pattern", "told"),
    [
        ("exact", "", "Enter a topic or a pattern"),
        ("exact", "orders/new", "Not a valid topic name"),
        ("exact", "..", "Not a valid topic name"),
        ("exact", "x" * 250, "At most 249"),
        ("regex", "(", "is not a regular expression"),
        ("regex", "(?!dead).*", "look-ahead (?!...) at character 1 is not supported"),
        ("regex", r"(a)\1", "back reference"),
        ("regex", "a{1001}", "The most is 1,000"),
        ("regex", "(a{100}){100}", "too large"),
        ("glob", "[z-a]", "ends before it begins"),
        ("regex", "(a+)+", ""),
        ("regex", "(a*)*b", ""),
        ("regex", "(a{1,9})+", ""),
        ("regex", EVIL, ""),
        ("glob", "*a" * 100 + "b", ""),
        ("regex", "orders-[0-9]+", ""),
        ("glob", "orders.*", ""),
        ("glob", "[", ""),
    ],
)
def test_a_name_that_no_topic_can_have_is_refused(kind, pattern, told):
    assert told in check_pattern(kind, pattern)
    assert bool(check_pattern(kind, pattern)) == bool(told)


# --- two steps ----------------------------------------------------------------------------------
def new(**fields):
    return {"cluster": "east", "kind": "exact", "pattern": "orders", "placement": BOTH} | fields


def test_a_placement_is_saved_as_its_preview_showed_it(cluster, api, operator):
    make_placed(cluster, "orders", [1, 2], partitions=3)
    shown = api("POST", "preview/", **new()).json()
    assert (shown["fitting"], shown["counting"], shown["wrong"]) == (1, 1, 1)
    assert TopicPlacement.objects.count() == 0
    answer = api("POST", "", **new(confirm=shown["confirm"]))
    assert answer.status_code == 201, answer.json()
    row = TopicPlacement.objects.get()
    assert (row.pattern, row.changed_by) == ("orders", operator.username)
    entry = AuditEntry.objects.get(action="placement.assign")
    assert (entry.outcome, entry.cluster, entry.actor_name) == (Outcome.DONE, "east", "otto")


def test_what_was_not_looked_at_is_not_saved(cluster, api):
    shown = api("POST", "preview/", **new()).json()
    for wrong in ({"confirm": "x"}, {"confirm": shown["confirm"], "placement": WEST}):
        answer = api("POST", "", **new(**wrong))
        assert answer.status_code == 400
        assert list(answer.json()["fields"]) == ["confirm"]
    assert not TopicPlacement.objects.exists()


def test_a_preview_counts_no_longer_when_another_placement_came(cluster, api):
    shown = api("POST", "preview/", **new()).json()
    make_rule(cluster, "ord*", kind="glob")
    assert api("POST", "", **new(confirm=shown["confirm"])).status_code == 400


def test_a_placement_is_changed_and_removed(cluster, api):
    row = make_rule(cluster, "orders")
    told = {"cluster": "east", "id": row.pk, "placement": WEST}
    confirm = api("POST", "preview/", **told).json()["confirm"]
    answer = api("PATCH", f"{row.pk}/", placement=WEST, confirm=confirm)
    assert answer.json()["placement"] == WEST
    assert api("DELETE", f"{row.pk}/").status_code == 204
    assert not TopicPlacement.objects.exists()
    trail = AuditEntry.objects.order_by("pk").values_list("action", flat=True)
    assert list(trail) == ["placement.change", "placement.remove"]


def test_a_name_has_one_placement(cluster, api):
    make_rule(cluster, "orders")
    confirm = api("POST", "preview/", **new()).json()["confirm"]
    answer = api("POST", "", **new(confirm=confirm))
    assert "has a placement already" in answer.json()["fields"]["pattern"][0]


@pytest.mark.parametrize(
    ("fields", "at"),
    [
        ({"placement": document({"nowhere": 1})}, "placement.replicas[0].constraints.rack"),
        ({"placement": document({"west": 3})}, "placement.replicas[0].count"),
        ({"placement": document({"west": 2}, {"west": 1}, "under-min-isr")}, "placement."),
        ({"placement": {"version": 1, "replicas": []}}, "placement.replicas"),
        ({"placement": document({"west": 1}, {"east": 1}, "always")},
         "placement.observerPromotionPolicy"),
        ({"placement": '{"version": 1,'}, "placement"),
        ({"placement": 7}, "placement"),
        ({"pattern": "a/b"}, "pattern"),
        ({"kind": "regex", "pattern": "["}, "pattern"),
        ({"kind": "sort of"}, "kind"),
        ({"priority": -1}, "priority"),
        ({"note": "x" * 301}, "note"),
    ],
    ids=["rack that is not there", "more than brokers", "observers more than brokers",
         "no replicas", "unknown policy", "no JSON", "no document", "no name", "no expression",
         "no kind", "priority", "long note"],
)  # fmt: skip
def test_bad_input_is_told_at_its_field(cluster, api, fields, at):
    answer = api("POST", "preview/", **new(**fields))
    assert answer.status_code == 400, answer.json()
    assert any(name.startswith(at) for name in answer.json()["fields"]), answer.json()


def test_a_cluster_without_racks_can_hold_no_placement(api):
    make_sites("bare", {1: "", 2: ""})
    answer = api("POST", "preview/", **new(cluster="bare"))
    assert "has a rack" in answer.json()["fields"]["placement"][0]


def test_a_rack_that_is_named_twice_is_refused(cluster, api):
    told = {"version": 1, "replicas": document({"west": 1})["replicas"] * 2}
    answer = api("POST", "preview/", **new(placement=told))
    assert "placement.replicas[1].constraints.rack" in answer.json()["fields"]


# --- who may ------------------------------------------------------------------------------------
def test_whoever_only_looks_may_not_assign(cluster, client, viewer):
    client.force_login(viewer)
    body = json.dumps(new(confirm="x"))
    assert client.post(API, body, content_type="application/json").status_code == 403
    assert client.get("/availability/east/placements/new/").status_code == 403
    assert client.get("/availability/east/placements/").status_code == 200


def test_read_only_refuses_and_writes_it_down(cluster, api, settings):
    row = make_rule(cluster, "orders")
    settings.CROSSLOG_READ_ONLY = True
    answer = api("DELETE", f"{row.pk}/")
    assert (answer.status_code, answer.json()["code"]) == (409, "read_only")
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.outcome) == ("placement.remove", Outcome.REFUSED)
    assert TopicPlacement.objects.exists()


# --- pages --------------------------------------------------------------------------------------
@pytest.fixture
def browser(client, operator, cluster):
    client.force_login(operator)
    return client


def form(**fields):
    values = {"kind": "exact", "pattern": "orders", "priority": "0", "note": ""}
    return values | {"placement": json.dumps(BOTH), "step": "preview"} | fields


def test_the_page_shows_what_a_placement_means_and_then_saves_it(browser, cluster):
    make_placed(cluster, "orders", [1, 2])
    path = "/availability/east/placements/new/"
    shown = browser.post(path, form())
    assert "Preview</h2>" in shown.content.decode()
    assert not TopicPlacement.objects.exists()
    confirm = shown.context["confirm"]
    assert browser.post(path, form(step="save", confirm="stale")).status_code == 200
    assert not TopicPlacement.objects.exists()
    assert browser.post(path, form(step="save", confirm=confirm)).status_code == 302
    page = browser.get("/availability/east/placements/").content.decode()
    assert "Mismatches" in page
    assert "orders" in page


def test_a_wrong_part_is_named_at_the_field_and_nothing_is_lost(browser):
    answer = browser.post(
        "/availability/east/placements/new/",
        form(placement=json.dumps(document({"nowhere": 1})), note="for the audit"),
    )
    text = answer.content.decode()
    assert "replicas[0].constraints.rack" in text
    assert "for the audit" in text
    assert "nowhere" in text


def test_a_placement_of_a_topic_config_is_compared_too(browser, cluster):
    make_placed(cluster, "orders", [1, 2], configs={CONFIG: json.dumps(BOTH)})
    page = browser.get("/availability/east/placements/").content.decode()
    assert "Topic config" in page


def test_an_observer_outside_the_isr_is_not_missing(api, cluster):
    make_placed(cluster, "orders", [1, 3, 5], [1, 3])
    told = document({"west": 1, "east": 1}, {"north": 1}, "under-min-isr")
    shown = api("POST", "preview/", **new(placement=told)).json()
    assert (shown["missing_before"], shown["missing_after"], shown["wrong"]) == (1, 0, 0)


def test_rules_without_rows_place_nothing():
    assert PlacementRules([]).of("orders").origin is Origin.NONE
