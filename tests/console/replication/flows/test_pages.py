import pytest
from django.urls import reverse
from django.utils import timezone

from console.accounts.models import Role
from console.replication.flows.models import FlowTopic, ReplicationFlow
from console.runs.models import RunState
from tests.console.making import (
    NOW,
    count_queries,
    make_cluster,
    make_flow,
    make_partition,
    make_run,
    make_topic,
    make_user,
)
from tests.console.replication.flow_form import flow_form

pytestmark = pytest.mark.django_db


@pytest.fixture
def as_operator(sign_in, operator):
    return sign_in(operator)


@pytest.fixture
def as_viewer(sign_in, viewer):
    return sign_in(viewer)


def page(client, name, *args, **query):
    answer = client.get(reverse(f"replication:{name}", args=args), query)
    assert answer.status_code == 200
    return answer.content.decode()


def test_without_two_clusters_the_page_leads_to_them(as_operator):
    assert "A flow needs two clusters" in page(as_operator, "list")


def test_with_two_clusters_the_page_leads_to_the_first_flow(as_operator):
    make_cluster("east"), make_cluster("west")
    assert "No flows yet" in page(as_operator, "list")


def test_the_list_shows_state_lag_and_what_is_wrong(as_viewer):
    make_flow(is_wanted=True, failures=2, failure="no java", lag=1234567, lag_ms=61_000)
    text = page(as_viewer, "list")
    assert "Failing" in text
    assert "no java" in text
    assert "1,234,567" in text
    assert "1\N{NO-BREAK SPACE}m\N{NO-BREAK SPACE}1\N{NO-BREAK SPACE}s" in text


def test_a_list_of_three_asks_no_more_than_a_list_of_one(as_viewer):
    make_run(make_flow("a"))
    one = count_queries(as_viewer, reverse("replication:list"))
    make_run(make_flow("b", target="b")), make_run(make_flow("c", target="c"))
    assert count_queries(as_viewer, reverse("replication:list")) == one


def test_the_list_is_exported_as_csv_with_states(as_viewer):
    make_flow("orders to west", lag=5)
    text = as_viewer.get(reverse("replication:list"), {"format": "csv"}).getvalue().decode()
    assert "orders to west" in text
    assert "stopped" in text


def test_a_flow_that_can_never_start_shows_the_reason_and_can_be_started_again(as_operator):
    flow = make_flow(is_wanted=True, failures=1, failure="west: too old. Update the cluster.")
    make_run(flow, state=RunState.FAILED, finished_at=NOW, summary={"is_final": True})
    text = page(as_operator, "detail", flow.pk)
    assert "west: too old. Update the cluster." in text
    assert "It is not retried automatically" in text
    assert reverse("replication:start", args=[flow.pk]) in text
    assert reverse("replication:stop", args=[flow.pk]) in text


def test_a_flow_shows_why_a_partition_failed_and_what_to_do(as_viewer):
    flow = make_flow(
        is_wanted=True,
        partition_count=2,
        states={"copying": 1, "failed": 1},
        worst_reason="orders-1: the record at offset 7 has 2 MiB",
    )
    make_run(flow, reported_at=NOW)
    FlowTopic.objects.create(
        flow=flow, topic="orders", state="failed", reason="orders-1: too large", updated_at=NOW
    )
    text = page(as_viewer, "detail", flow.pk)
    assert "orders-1: too large" in text


def test_a_topic_that_was_created_again_can_be_accepted_by_an_operator_only(client):
    flow = make_flow()
    FlowTopic.objects.create(flow=flow, topic="orders", accepts_new=True, updated_at=NOW)
    client.force_login(make_user(Role.VIEWER))
    assert "Copy orders from its beginning" not in page(client, "detail", flow.pk)
    client.force_login(make_user(Role.OPERATOR))
    assert "Copy orders from its beginning" in page(client, "detail", flow.pk)
    client.post(reverse("replication:accept-topics", args=[flow.pk]), {"topics": ["orders"]})
    assert ReplicationFlow.objects.get().reset_topics == ["orders"]


def test_the_live_part_is_answered_alone(as_viewer):
    flow = make_flow()
    answer = as_viewer.get(
        reverse("replication:detail", args=[flow.pk]), headers={"HX-Request": "true"}
    )
    text = answer.content.decode()
    assert "<html" not in text
    assert "rail" not in text
    assert [f'id="{part}"' in text for part in ("heading", "page-tools", "page-tabs", "live")] == (
        [True] * 4
    )
    assert "HX-Request" in answer["Vary"]


def test_a_flow_that_is_gone_is_said_to_be_gone(as_viewer):
    answer = as_viewer.get(reverse("replication:detail", args=[4711]))
    assert answer.status_code == 404
    assert "Flow 4711 does not exist. It may have been deleted." in answer.content.decode()


def test_the_states_over_time_stand_on_the_page_of_a_flow(as_viewer):
    flow = make_flow(is_wanted=True)
    run = make_run(flow, created_at=timezone.now(), started_at=timezone.now())
    text = page(as_viewer, "detail", flow.pk)
    assert "State timeline" in text
    assert f'href="/runs/{run.pk}/"' in text


def test_partitions_can_be_narrowed_to_a_topic_and_a_state(as_viewer):
    flow = make_flow()
    make_partition(flow, "orders", 3, state="failed", reason="record too large")
    make_partition(flow, "clicks", 4)
    text = page(as_viewer, "partitions", flow.pk, topic="orders")
    assert "orders-3" in text
    assert "record too large" in text
    assert "clicks-4" not in text


@pytest.mark.parametrize("name", ["detail", "partitions", "runs"])
def test_more_rows_ask_no_more_queries(as_viewer, name):
    flow = make_flow()

    def fill(numbers):
        for number in numbers:
            make_partition(flow, "orders", number)
            FlowTopic.objects.create(flow=flow, topic=f"t{number}", updated_at=NOW)
            make_run(flow, subject=flow.subject, state=RunState.CRASHED)

    fill([1])
    one = count_queries(as_viewer, reverse(f"replication:{name}", args=[flow.pk]))
    fill(range(2, 60))
    assert count_queries(as_viewer, reverse(f"replication:{name}", args=[flow.pk])) == one


@pytest.mark.parametrize("name", ["detail", "partitions"])
def test_more_rows_with_buttons_ask_no_more_queries(as_operator, name):
    flow = make_flow(control={"paused": ["t1", "orders:1"]})

    def fill(numbers):
        for number in numbers:
            make_partition(flow, "orders", number)
            FlowTopic.objects.create(flow=flow, topic=f"t{number}", updated_at=NOW)

    fill([1])
    one = count_queries(as_operator, reverse(f"replication:{name}", args=[flow.pk]))
    fill(range(2, 40))
    assert count_queries(as_operator, reverse(f"replication:{name}", args=[flow.pk])) == one


def test_runs_of_the_flow_are_listed(as_viewer):
    flow = make_flow()
    make_run(flow, title="Replicate orders", state=RunState.CRASHED, error="it broke")
    assert "it broke" in page(as_viewer, "runs", flow.pk)


def test_a_flow_is_made_by_the_form(as_operator):
    make_cluster("east"), make_cluster("west")
    answer = as_operator.post(
        reverse("replication:new"), flow_form(topics="orders\n\n clicks ", start="on")
    )
    flow = ReplicationFlow.objects.get()
    assert answer.url == reverse("replication:detail", args=[flow.pk])
    assert (flow.topics, flow.is_wanted) == (["orders", "clicks"], True)


def test_a_flow_that_selects_nothing_is_made_after_its_name_was_typed_again(as_operator):
    make_topic(make_cluster("east"), "clicks"), make_cluster("west")
    form = flow_form(topics="orders")
    preview = as_operator.post(reverse("replication:preview"), form).content.decode()
    assert "0 of 1 topics of east match" in preview
    refused = as_operator.post(reverse("replication:new"), form).content.decode()
    assert "0 of 1 topics of east match" in refused
    assert 'name="confirm"' in refused
    assert not ReplicationFlow.objects.exists()
    as_operator.post(reverse("replication:new"), {**form, "confirm": form["name"]})
    assert ReplicationFlow.objects.get().topics == ["orders"]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        pytest.param({"topics": "("}, "is not a regular expression", id="pattern"),
        pytest.param({"target": "east"}, "a flow needs two clusters", id="one cluster"),
        pytest.param({"name": "!"}, "A name is 1 to 100", id="name"),
        pytest.param({"separator": "/"}, "a topic name may have", id="separator"),
    ],
)
def test_what_is_wrong_stands_at_the_field(as_operator, changes, sentence):
    make_cluster("east"), make_cluster("west")
    text = as_operator.post(reverse("replication:new"), flow_form(**changes)).content.decode()
    assert sentence in text
    assert not ReplicationFlow.objects.exists()


@pytest.mark.parametrize("name", ["replication:new", "replication:preview"])
def test_form_and_preview_say_that_two_aliases_are_one_cluster(as_operator, name):
    make_cluster("east", cluster_id="id-1"), make_cluster("west", cluster_id="id-1")
    text = as_operator.post(reverse(name), flow_form()).content.decode()
    assert "east and west are the same cluster (cluster id id-1)" in text


def test_the_preview_shows_where_topics_go_and_why_others_do_not(as_operator):
    make_cluster("west")
    make_topic(make_cluster("east"), "orders"), make_topic(make_cluster("east"), "clicks")
    text = as_operator.post(reverse("replication:preview"), flow_form(name="")).content.decode()
    assert "east.orders" in text
    assert "No pattern of the flow" in text


def test_the_preview_waits_for_both_clusters(as_operator):
    make_cluster("east"), make_cluster("west")
    text = as_operator.post(reverse("replication:preview"), flow_form(target="")).content.decode()
    assert "Choose a source and a target" in text


def test_settings_are_saved_and_the_clusters_stay(as_operator):
    flow = make_flow()
    as_operator.post(
        reverse("replication:settings", args=[flow.pk]), flow_form(name="g", tasks="2")
    )
    flow.refresh_from_db()
    assert (flow.name, flow.tasks, flow.source.alias) == ("g", 2, "east")


def test_stop_start_and_delete_by_buttons(as_operator):
    flow = make_flow()
    as_operator.post(reverse("replication:start", args=[flow.pk]))
    assert ReplicationFlow.objects.get().is_wanted
    as_operator.post(reverse("replication:stop", args=[flow.pk]))
    assert not ReplicationFlow.objects.get().is_wanted
    delete = reverse("replication:delete", args=[flow.pk])
    page = as_operator.post(delete, {"remove-confirm": "another"}, follow=True).content.decode()
    assert f"Type its name to confirm: {flow.name}" in page
    as_operator.post(delete, {"remove-confirm": flow.name})
    assert not ReplicationFlow.objects.exists()


@pytest.mark.parametrize("name", ["list", "new"])
def test_anonymous_people_are_sent_to_the_login(client, name):
    answer = client.get(reverse(f"replication:{name}"))
    assert (answer.status_code, "/login/" in answer.url) == (302, True)


@pytest.mark.parametrize("name", ["detail", "partitions", "runs", "settings"])
def test_anonymous_people_see_no_flow(client, name):
    assert client.get(reverse(f"replication:{name}", args=[make_flow().pk])).status_code == 302


@pytest.mark.parametrize("name", ["new", "settings"])
def test_a_viewer_gets_no_form(as_viewer, name):
    args = [make_flow().pk] if name == "settings" else []
    assert as_viewer.get(reverse(f"replication:{name}", args=args)).status_code == 403


@pytest.mark.parametrize("name", ["start", "stop", "delete", "accept-topics"])
def test_a_viewer_presses_no_button(as_viewer, name):
    assert as_viewer.post(reverse(f"replication:{name}", args=[make_flow().pk])).status_code == 403


def test_an_unknown_flow_is_not_found(as_viewer):
    assert as_viewer.get(reverse("replication:detail", args=[999])).status_code == 404


@pytest.mark.parametrize(
    ("fields", "stages", "told"),
    [
        pytest.param({"measured_at": None}, None, "Not measured yet.", id="new"),
        pytest.param(
            {}, None, "the flow reads the topics of the source when it starts", id="stopped"
        ),
        pytest.param(
            {"is_wanted": True}, {}, "has not read the topics of the source yet", id="Spark starts"
        ),
        pytest.param(
            {"is_wanted": True},
            {"driver_started": -2},
            "has not read the topics of the source yet",
            id="reads",
        ),
        pytest.param(
            {"is_wanted": True},
            {"driver_started": -2, "surveyed": -1},
            "No topic of the source matches the flow&#x27;s topic patterns.",
            id="has read",
        ),
    ],
)
def test_that_no_topic_matches_is_said_only_after_the_source_was_read(
    as_viewer, fields, stages, told
):
    now = timezone.now()
    flow = make_flow(**{"measured_at": now, "partition_count": 0} | fields)
    if stages is not None:
        marks = {name: int((now.timestamp() + ago) * 1000) for name, ago in stages.items()}
        make_run(flow, stages=marks, reported_at=now if marks else None)
    text = page(as_viewer, "detail", flow.pk)
    assert told in text
    assert ("No topic of the source matches" in text) == told.startswith("No topic")


def test_a_flow_shows_how_long_each_stage_of_its_start_took(as_viewer):
    flow = make_flow(is_wanted=True, partition_count=1, states={"copying": 1}, measured_at=NOW)
    begun = int(NOW.timestamp() * 1000)
    marks = ("driver_started", "surveyed", "tasks_started", "first_record")
    stages = {name: begun + 1000 * 2**n for n, name in enumerate(marks, 4)}
    make_run(flow, stages=stages, reported_at=timezone.now())
    text = page(as_viewer, "detail", flow.pk).replace("\N{NO-BREAK SPACE}", " ")
    assert (
        "Start of the run: queued 0 s, Spark starting 16 s, reading topics and positions 16 s, "
        "tasks starting 32 s, first record 1 m 4 s."
    ) in text


@pytest.mark.parametrize("path", ["/", "/replication/", "/replication/{flow}/"])
def test_every_page_of_a_flow_says_who_paused_and_who_limited_it(as_viewer, path):
    ada = {"by": "ada", "at": NOW.isoformat()}
    flow = make_flow(
        is_wanted=True,
        partition_count=2,
        states={"copying": 1, "paused": 1},
        measured_at=NOW,
        control={"paused": ["clicks"], "max_bytes_per_s": 2048},
        steered_by={"paused": {"clicks": ada}, "limit": ada},
    )
    make_run(flow, reported_at=timezone.now())
    text = as_viewer.get(path.format(flow=flow.pk)).content.decode()
    assert "Paused by ada, 21 Nov 03:12 UTC: clicks." in text
    assert "Limited to 2\N{NO-BREAK SPACE}KiB/s by ada, 21 Nov 03:12 UTC." in text


def test_the_api_says_who_paused_and_who_limited_a_flow(as_viewer):
    flow = make_flow(control={"paused": ["clicks"]}, max_bytes_per_s=1024)
    body = as_viewer.get(f"/api/v1/flows/{flow.pk}/").json()
    unrecorded = {"by": "", "at": None}
    assert body["steering"] == [
        {"what": "paused", "name": "clicks", "bytes_per_s": None, "is_setting": False} | unrecorded,
        {"what": "limit", "name": "", "bytes_per_s": 1024, "is_setting": True} | unrecorded,
    ]
    assert body["status"]["steered"].startswith("Paused by an operator: clicks.")


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"topics": "orders\nclicks"}, "applies the new settings within seconds"),
        ({"tasks": 3}, "The flow restarts with the new settings"),
    ],
    ids=["live", "restart"],
)
def test_saving_settings_says_whether_the_running_flow_restarts(as_operator, changed, told):
    flow = make_flow(is_wanted=True)
    make_run(flow)
    values = flow_form(name=flow.name) | changed
    answer = as_operator.post(reverse("replication:settings", args=[flow.pk]), values, follow=True)
    assert told in answer.content.decode()


def test_the_form_says_which_settings_restart_the_flow(as_operator):
    text = page(as_operator, "settings", make_flow().pk)
    helps = {
        name: text.partition(f'id="id_{name}_helptext">')[2].partition("<")[0]
        for name in ("topics", "tasks", "delivery", "max_bytes_per_s", "groups")
    }
    assert {name for name, text in helps.items() if "A change restarts the flow." in text} == {
        "tasks",
        "delivery",
    }
