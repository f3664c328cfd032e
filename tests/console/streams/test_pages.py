"""The pages of Kafka Streams applications: what they show, for whom, and that they stay bounded."""

import html
import re
from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from console.accounts.models import AuditEntry
from console.frame.security.middleware import CONTENT_SECURITY_POLICY
from console.streams.collection.rows import save_application
from console.streams.models import StreamsApplication
from tests.console.making import count_queries, make_cluster
from tests.console.streams.making import (
    DESCRIPTION,
    SHOP,
    group,
    make_farm,
    make_finding,
    make_round,
    make_streams,
    member,
    observation,
    topic,
    two_instances,
    without_endpoint,
)
from tests.jobs.streams.topology.descriptions import chain, description, hostile_topology

pytestmark = pytest.mark.django_db
PAGE = f"/streams/east/{SHOP}/"


def text_of(answer) -> str:
    assert answer.status_code == 200
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())).split())


@pytest.fixture
def shop():
    return make_streams(make_cluster("east"), without_endpoint(), timezone.now())


def test_the_list_shows_state_lag_and_wrong_answers(visitor):
    text = text_of(visitor.get("/streams/"))
    for told in (SHOP, "Stable", "streams", "46", "Misrouted keys"):
        assert told in text


def test_an_empty_list_says_what_would_be_there_and_which_right_is_needed(sign_in, viewer):
    text = text_of(sign_in(viewer).get("/streams/"))
    assert "No Kafka Streams application" in text
    assert "DESCRIBE on groups" in text


def test_the_list_says_why_a_cluster_has_nothing_newer(sign_in, viewer):
    make_round(make_cluster("east"), failing_since=timezone.now(), error="No broker answered.")
    assert "east: No broker answered." in text_of(sign_in(viewer).get("/streams/"))


def test_the_list_is_exported(visitor):
    lines = b"".join(visitor.get("/streams/?format=csv")).decode().splitlines()
    assert lines[1].startswith("shop,east,Stable,0,0.5,streams,2,2,4")


@pytest.mark.parametrize(
    "told",
    [
        "A active", "shop-1.example:8080", "10.0.0.2", "totals",
        "orders-3", "It has no application.server", "zone=a", "dc-a", "Restore cost of a crash",
        "Wrong answers", "Topology", "Subtopology 0",
    ],
)  # fmt: skip
def test_an_application_shows_what_it_runs(visitor, told):
    assert told in text_of(visitor.get(PAGE))


def test_a_task_without_a_thread_has_a_sign(sign_in, viewer):
    make_streams(make_cluster("east"), group(member(1, (0, 1, 2))), timezone.now())
    text = text_of(sign_in(viewer).get(PAGE))
    assert "no active thread" in text
    assert "1 without an active thread" in text


def test_what_a_crash_costs_with_standbys_is_told_as_of_the_last_rebalance(sign_in, viewer):
    joined = timezone.now() - timedelta(minutes=50)
    read = {("0", number): 30 for number in range(4)}
    both = group(member(1, (0, 1), (2, 3), offsets=read), member(2, (2, 3), (0, 1), offsets=read))
    row = make_streams(make_cluster("east"), both, joined)
    later = observation(both, timezone.now())
    grown = {f"{SHOP}-totals-changelog": topic(4, 120_000)}
    save_application(row.cluster, row, replace(later, topics=later.topics | grown), timezone.now())
    text = text_of(sign_in(viewer).get(PAGE))
    assert re.search(r"Unknown at most 20 as of the last rebalance, 50 m[\d s]* ago", text)
    assert re.search(r"As of the last observed rebalance, 50 m[\d s]* ago", text)
    restore = sign_in(viewer).get(f"/api/v1/streams/{SHOP}/").json()["restore"][0]
    assert (restore["records"], restore["records_at_rebalance"]) == (None, 20)


def test_many_tasks_are_counts_and_ranges(sign_in, viewer):
    found = group(member(1, range(100)), member(2, range(100, 200)))
    make_streams(make_cluster("east"), found, timezone.now(), partitions=200)
    text = text_of(sign_in(viewer).get(PAGE))
    assert "100-199" in text
    assert "matrix__cell" not in sign_in(viewer).get(PAGE).content.decode()


def test_a_group_that_rebalances_shows_the_last_assignment_with_its_age(visitor):
    StreamsApplication.objects.update(state="PreparingRebalance", instances=None)
    text = text_of(visitor.get(PAGE))
    assert "The group is PreparingRebalance and shows no tasks." in text
    assert "shop-1.example:8080" in text


def test_lag_is_sorted_by_records_or_by_task(visitor):
    by_lag, by_task = (
        visitor.get(f"{PAGE}?order={name}").content.decode() for name in ("", "task")
    )
    assert by_lag.index("orders-3") < by_lag.index("orders-0</td>")
    assert by_task.index("orders-0</td>") < by_task.index("orders-3</td>")


def test_the_page_has_the_open_findings_with_what_to_do_and_the_help_of_the_check(visitor, shop):
    make_finding(shop)
    make_finding(
        shop, "streams_idle_threads", "info", sentence="It is over.", closed_at=timezone.now()
    )
    make_finding(
        shop, "streams_idle_threads", "info", subject="other", sentence="Another application."
    )
    answer = visitor.get(PAGE)
    text = text_of(answer)
    for told in ("application shop of east has a fault.", "Set application.server.", "Runbook"):
        assert told in text
    assert 'href="/help/checks/#streams_endpoint_missing"' in answer.content.decode()
    assert "It is over." not in text
    assert "Another application." not in text


def test_a_caution_that_an_open_finding_says_is_shown_once(visitor, shop):
    told = "The instance at 10.0.0.2 has no application.server: no other instance can name it."
    assert told in text_of(visitor.get(PAGE))
    make_finding(shop)
    assert told not in text_of(visitor.get(PAGE))


def test_the_list_counts_open_findings_by_the_worst_of_them(visitor, shop):
    make_finding(shop)
    make_finding(shop, "streams_idle_threads", "info")
    page = visitor.get("/streams/").content.decode()
    assert re.search(r'<span class="state critical" title="Worst: Critical">.*?2</span>', page)


def test_an_unknown_application_is_not_found(visitor):
    assert visitor.get("/streams/east/other/").status_code == 404
    assert visitor.get(f"/streams/west/{SHOP}/").status_code == 404


def test_a_name_with_slashes_has_a_page(sign_in, viewer):
    make_streams(make_cluster("east"), two_instances(group_id="a/../b"), timezone.now())
    listed = sign_in(viewer).get("/streams/").content.decode()
    path = re.search(r'href="(/streams/east/[^"]+)"', listed)[1]
    assert sign_in(viewer).get(path).status_code == 200


@pytest.mark.parametrize("path", ["/streams/", PAGE, f"{PAGE}key-lookup/"])
def test_a_page_needs_few_queries(visitor, path):
    assert count_queries(visitor, path) <= 22


def test_the_list_needs_no_more_queries_for_more_applications(visitor):
    before = count_queries(visitor, "/streams/")
    for number in range(5):
        name = f"other-{number}"
        make_streams(make_cluster("east"), two_instances(group_id=name), timezone.now())
    assert count_queries(visitor, "/streams/") == before


def test_a_description_is_kept_drawn_and_written(helper, operator):
    answer = helper.post(f"{PAGE}description/", {"description": DESCRIPTION}, follow=True)
    text = text_of(answer)
    assert "Description saved." in text
    assert "from the pasted description" in text
    assert "KSTREAM-AGGREGATE-1 (processor) → KSTREAM-SINK-2 (sink) → totals (store)" in text
    assert "digraph topology {" in text
    entry = AuditEntry.objects.get(action="streams.describe")
    assert (entry.actor, entry.subject, entry.cluster) == (operator, SHOP, "east")


@pytest.mark.parametrize(
    ("nodes", "told"),
    [
        (240, "from the pasted description; too large for single processors"),
        (8, "from the pasted description"),
    ],
)
def test_what_a_browser_cannot_draw_in_time_is_drawn_by_subtopologies(helper, nodes, told):
    text = description(*chain(nodes)).replace("[in-0]", "[orders]")
    helper.post(f"{PAGE}description/", {"description": text})
    page = helper.get(PAGE).content.decode()
    assert f">{told}</span>" in page
    assert ("shape=component" in page) == (nodes == 240)


def test_the_picture_needs_no_exception_in_the_policy_of_the_page(helper):
    assert helper.get(PAGE)["Content-Security-Policy"] == CONTENT_SECURITY_POLICY


def test_names_in_a_topology_are_text(helper):
    (_, _, *lines) = hostile_topology().replace("<i>.*</i>\\", "[orders]").splitlines()
    text = "\n".join(["Topologies:", *lines])
    assert helper.post(f"{PAGE}description/", {"description": text}).status_code == 302
    page = helper.get(PAGE).content.decode()
    assert "from the pasted description" in page
    assert not re.search(r"<script>alert|<img|<b>|<i>", page)


def test_a_description_is_removed_by_an_empty_text(helper):
    helper.post(f"{PAGE}description/", {"description": DESCRIPTION})
    helper.post(f"{PAGE}description/", {"description": ""})
    row = StreamsApplication.objects.get()
    assert (row.description, row.described_at, row.described_by) == ("", None, "")


def test_a_wrong_description_says_the_line_at_its_field_and_loses_nothing(helper):
    helper.post(f"{PAGE}description/", {"description": DESCRIPTION})
    wrong = DESCRIPTION.replace("    Sink:", "    Sunk:")
    answer = helper.post(f"{PAGE}description/", {"description": wrong})
    assert "Line 8:" in answer.context["form"].errors["description"][0]
    assert "Sunk: KSTREAM-SINK-2" in answer.content.decode()
    assert "Sunk" not in StreamsApplication.objects.get().description


def test_an_endpoint_that_leads_nowhere_is_a_caution_on_every_page_and_in_rest(sign_in, viewer):
    both = group(member(1, (0, 1), endpoint="0.0.0.0:8080"), member(2, (2, 3)))
    make_streams(make_cluster("east"), both, timezone.now())
    client = sign_in(viewer)
    told = "application.server 0.0.0.0:8080 leads nowhere from another machine"
    assert told in text_of(client.get(PAGE))
    assert told in client.get(f"/api/v1/streams/{SHOP}/").json()["cautions"][0]
    asked = {"store": "totals", "key_format": "utf-8"}
    keys = [asked | {"key": str(number)} for number in range(8)]
    lookups = [
        client.post(f"/api/v1/streams/{SHOP}/key-lookup/", key, "application/json") for key in keys
    ]
    served = [one.json() for one in lookups if one.json()["active"]["endpoint"] == "0.0.0.0:8080"]
    assert served
    assert all(any(told in caution for caution in one["cautions"]) for one in served)
    page = client.post(f"{PAGE}key-lookup/", next(k for k, one in zip(keys, lookups, strict=True)
                                                  if one.json() in served))  # fmt: skip
    assert told in text_of(page)


OTHER = DESCRIPTION.replace("[orders]", "[nosuch, other]")
NEWER = DESCRIPTION.replace("[orders]", "[orders, returns]")


def test_the_description_of_another_application_is_refused_at_its_field(helper):
    text = text_of(helper.post(f"{PAGE}description/", {"description": OTHER}))
    assert "It is the description of another application." in text
    assert "The description reads nosuch, other, which the application does not read." in text
    assert StreamsApplication.objects.get().description == ""
    answer = helper.put(
        f"/api/v1/streams/{SHOP}/description/", {"description": OTHER}, "application/json"
    )
    assert answer.status_code == 400
    assert "nosuch, other" in answer.json()["fields"]["description"][0]


def test_the_description_of_another_version_is_kept_with_a_caution_and_not_drawn(helper):
    assert helper.post(f"{PAGE}description/", {"description": NEWER}).status_code == 302
    text = text_of(helper.get(PAGE))
    told = "The description reads returns, which the application does not read."
    assert f"The description is not that of what runs, and is not used. {told}" in text
    assert "the pasted description is not that of what runs: subtopologies as they run" in text
    assert "KSTREAM-AGGREGATE-1" not in text
    assert told in helper.get(f"/api/v1/streams/{SHOP}/").json()["cautions"][-1]


def test_a_description_that_was_kept_and_is_of_another_application_is_not_drawn_as_the_truth(
    helper,
):
    StreamsApplication.objects.update(description=OTHER)
    text = text_of(helper.get(PAGE))
    assert "is not that of what runs, and is not used" in text
    assert "KSTREAM-SOURCE-0" not in text


def test_a_viewer_may_not_describe(visitor):
    assert visitor.get(f"{PAGE}description/").status_code == 403


def test_a_lookup_shows_the_answer_beside_that_of_the_application(visitor):
    asked = {"store": "totals", "key": "customer-1", "key_format": "utf-8"}
    answer = visitor.post(f"{PAGE}key-lookup/", asked)
    text = text_of(answer)
    for told in (
        "Active",
        "Partition",
        "murmur2 of 10 bytes",
        "Application answers",
        "last collected",
    ):
        assert told in text
    assert "no-store" in answer["Cache-Control"]


def test_a_lookup_shows_all_places_of_a_key_of_topics_of_different_size(sign_in, viewer):
    """tests/conformance/reported/streams_topics_of_different_sizes"""
    row = make_farm(make_cluster("west"), timezone.now())
    asked = {"store": "totals", "key": "k2", "key_format": "utf-8"}
    path = f"/streams/west/{row.application_id}/key-lookup/"
    text = text_of(sign_in(viewer).post(path, asked))
    assert "Unknown whether the application is right" in text
    assert "partition 3 h1.example:7071 farm.milk partition 1 h1.example:7071 farm.eggs" in text
    assert "different partition counts" in text


def test_a_lookup_in_a_global_store_is_answered_by_every_instance(sign_in, viewer):
    """tests/conformance/reported/global_store_served_by_nobody"""
    row = make_farm(make_cluster("west"), timezone.now())
    asked = {"store": "names", "key": "k1", "key_format": "utf-8"}
    path = f"/streams/west/{row.application_id}/key-lookup/"
    text = text_of(sign_in(viewer).post(path, asked))
    assert "Active every instance" in text
    assert "Application answers any host that runs" in text


def test_a_lookup_with_a_wrong_key_says_it_at_the_field(visitor):
    asked = {"store": "totals", "key": "x", "key_format": "int32"}
    answer = visitor.post(f"{PAGE}key-lookup/", asked)
    assert "whole number" in answer.context["form"].errors["key"][0]


def test_a_viewer_is_not_offered_the_changelog(visitor):
    assert "Also search the changelog" not in text_of(visitor.get(f"{PAGE}key-lookup/"))


def test_an_operator_is_offered_the_changelog(helper):
    assert "Also search the changelog" in text_of(helper.get(f"{PAGE}key-lookup/"))


def test_an_application_that_was_never_seen_whole_has_pages(sign_in, viewer):
    found = group(group_id="new", state="NotReady", subtopologies=None)
    make_streams(make_cluster("east"), found, timezone.now())
    for path in ("/streams/east/new/", "/streams/east/new/key-lookup/"):
        assert "Its tasks are unknown" in text_of(sign_in(viewer).get(path))
    assert sign_in(viewer).get("/api/v1/streams/new/tasks/").json()["results"] == []


def test_what_is_left_out_is_said_and_counts_are_at_least(sign_in, viewer):
    crowd = group(*(member(number, (number % 3,)) for number in range(1_001)))
    make_streams(make_cluster("east"), crowd, timezone.now())
    client = sign_in(viewer)
    text = text_of(client.get("/streams/east/shop/"))
    assert "1,001 members: the first 1,000 are kept." in text
    assert "at least 1,000 threads" in text
    assert "Unknown: tasks are left out." in text
    assert "No thread" not in text
    assert "At least" in text_of(client.get("/streams/"))
    assert client.get("/api/v1/streams/shop/").json()["left_out"].startswith("1,001 members")
