"""The pages of clusters."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from console.clusters.models import Cluster, CollectionRound, Group, Partition, Topic
from jobs.availability.status.severity import Severity
from jobs.limits import LEFT_OUT
from tests.console.clusters.making import NOW, later, make_cluster, make_round, make_seen

REFUSED = {"alias": "west", "bootstrap_servers": "127.0.0.1:1", "security_protocol": "PLAINTEXT"}
READS = (
    "",
    "east/",
    "east/brokers/",
    "east/topics/",
    "east/topics/topic-00000/",
    "east/partitions/",
    "east/groups/",
    "east/groups/group-00000/",
    "east/mirror/",
)
ADMIN_READS = ("new/", "east/settings/")
TABLES = ("", "east/brokers/", "east/topics/", "east/partitions/", "east/groups/")


@pytest.fixture
def east(db):
    cluster = make_cluster("east", cluster_id="id-1")
    make_seen(cluster)
    return cluster


def page(path: str) -> str:
    return f"/clusters/{path}"


def text_of(answer) -> str:
    return answer.content.decode()


# --- who may what ---


@pytest.mark.parametrize("path", READS)
def test_everybody_with_an_account_may_look(east, viewer, sign_in, path):
    assert sign_in(viewer).get(page(path)).status_code == 200


@pytest.mark.parametrize("path", [*READS, *ADMIN_READS])
def test_without_an_account_one_is_asked_to_sign_in(east, client, path):
    answer = client.get(page(path))
    assert answer.status_code == 302
    assert answer["Location"].startswith("/login/?next=/clusters/")


@pytest.mark.parametrize("path", ADMIN_READS)
@pytest.mark.parametrize(("role", "status"), [("viewer", 403), ("operator", 403), ("admin", 200)])
def test_only_an_admin_sees_the_settings(east, request, sign_in, role, status, path):
    assert sign_in(request.getfixturevalue(role)).get(page(path)).status_code == status


@pytest.mark.parametrize("path", ["east/confirm/", "east/delete/", "new/", "east/settings/"])
@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_only_an_admin_changes_the_registry(east, request, sign_in, role, path):
    answer = sign_in(request.getfixturevalue(role)).post(page(path), REFUSED)
    assert answer.status_code == 403
    assert Cluster.objects.get() == east


@pytest.mark.parametrize("path", ["east/check/", "east/confirm/", "east/delete/"])
def test_what_changes_something_is_not_a_link(east, admin, sign_in, path):
    assert sign_in(admin).get(page(path))["Location"] == page("east/")
    assert Cluster.objects.get() == east


@pytest.mark.parametrize(
    "path", ["west/", "west/topics/", "east/topics/none/", "east/groups/none/", "west/settings/"]
)
def test_what_does_not_exist_is_not_found(east, admin, sign_in, path):
    assert sign_in(admin).get(page(path)).status_code == 404


# --- registering ---


def test_an_unreachable_cluster_is_explained_at_its_field(admin, sign_in):
    answer = sign_in(admin).post(page("new/"), REFUSED)
    form = answer.context["form"]
    assert "Connection refused: " in form.errors["bootstrap_servers"][0]
    assert not Cluster.objects.exists()


def test_a_user_name_without_sasl_is_refused_at_its_field(admin, sign_in):
    answer = sign_in(admin).post(page("new/"), REFUSED | {"sasl_username": "ann"})
    assert "PLAINTEXT has no login" in answer.context["form"].errors["sasl_username"][0]


def test_fields_name_the_protocols_that_use_them(admin, sign_in):
    text = sign_in(admin).get(page("new/")).content.decode()
    assert [text.count(f'data-needs="{one}"') for one in ("sasl", "oauthbearer", "tls")] == [
        3,
        2,
        5,
    ]
    assert ("data-by-protocol" in text, "js/protocol_fields.js" in text) == (True, True)


def test_an_unreachable_cluster_is_saved_when_the_box_is_ticked(admin, sign_in):
    body = REFUSED | {"save_unchecked": "on"}
    answer = sign_in(admin).post(page("new/"), body, follow=True)
    assert "was saved without a connection" in text_of(answer)


def test_settings_that_do_not_fit_together_are_explained_at_their_fields(admin, sign_in):
    body = REFUSED | {"security_protocol": "SASL_SSL", "sasl_password": "hunter2"}
    form = sign_in(admin).post(page("new/"), body).context["form"]
    assert {"sasl_mechanism", "sasl_username", "sasl_password"} <= set(form.errors)


def test_a_secret_that_was_typed_by_mistake_is_not_stored(admin, sign_in):
    body = REFUSED | {"sasl_password": "hunter2", "save_unchecked": "on"}
    sign_in(admin).post(page("new/"), body)
    assert not Cluster.objects.exists()


def test_settings_that_fail_the_check_stay_as_they_were(east, admin, sign_in):
    body = {"bootstrap_servers": "127.0.0.1:1", "security_protocol": "PLAINTEXT"}
    answer = sign_in(admin).post(page("east/settings/"), body)
    assert "Connection refused: " in answer.context["form"].errors["bootstrap_servers"][0]
    east.refresh_from_db()
    assert east.bootstrap_servers == "east.example:9092"


def test_another_cluster_behind_the_address_can_be_confirmed(east, admin, sign_in):
    Cluster.objects.update(seen_cluster_id="id-2")
    client = sign_in(admin)
    assert "Confirm new cluster ID" in text_of(client.get(page("east/settings/")))
    client.post(page("east/confirm/"), {"cluster_id": "id-2"})
    assert Cluster.objects.get().cluster_id == "id-2"


REMOVED = {"remove-confirm": "east"}


@pytest.mark.parametrize("typed", [{}, {"remove-confirm": ""}, {"remove-confirm": "west"}], ids=str)
def test_a_cluster_is_not_removed_before_its_alias_is_typed(east, admin, sign_in, typed):
    answer = sign_in(admin).post(page("east/delete/"), typed, follow=True)
    assert answer.redirect_chain == [("/clusters/east/settings/", 302)]
    assert "Type its alias to confirm: east" in text_of(answer)
    assert Cluster.objects.exists()


def test_a_cluster_is_removed_when_its_alias_is_typed(east, admin, sign_in):
    client = sign_in(admin)
    assert 'name="remove-confirm"' in text_of(client.get(page("east/settings/")))
    assert "Cluster east was removed." in text_of(
        client.post(page("east/delete/"), REMOVED, follow=True)
    )
    assert not Cluster.objects.exists()


# --- looking ---


@pytest.mark.parametrize("path", ["", "west/"])
def test_what_was_never_read_is_a_dash_and_what_was_found_empty_is_a_zero(
    db, viewer, sign_in, path
):
    cluster = make_cluster("west")
    client = sign_in(viewer)
    assert "0" not in numbers_of(client.get(page(path)))
    make_round(cluster, "brokers")
    make_round(cluster, "topics")
    assert "0" in numbers_of(client.get(page(path)))


def numbers_of(answer) -> str:
    """The numbers of the page's facts or table, joined."""
    if "facts" in answer.context:
        return " ".join(str(fact["value"]) for fact in answer.context["facts"])
    cells = answer.context["table"].body[0][1]
    return " ".join(str(cell.text) for cell in cells if cell.column.numeric)


def test_a_failing_cluster_says_what_since_when_and_what_to_do(east, viewer, sign_in):
    CollectionRound.objects.update(
        failing_since=later(30), error="Connection refused.", hint="Check the port."
    )
    text = text_of(sign_in(viewer).get(page("east/")))
    assert "Unreachable" in text
    assert "Connection refused." in text
    assert "Check the port." in text
    assert 'datetime="2026-11-21T03:12:30.000+00:00"' in text


@pytest.mark.parametrize(
    ("severity", "words"),
    [
        (Severity.UNDER_REPLICATED, "Under replicated"),
        (Severity.AT_MIN_ISR, "At min isr"),
        (Severity.UNDER_MIN_ISR, "Under min isr"),
        (Severity.OFFLINE, "Offline"),
    ],
    ids=str,
)
def test_the_severity_of_a_partition_is_a_word(east, viewer, sign_in, severity, words):
    Partition.objects.update(severity=severity)
    text = text_of(sign_in(viewer).get(page("east/partitions/"))).lower()
    assert words.lower() in text


def test_a_partition_filter_of_the_first_page_leads_to_exactly_those_rows(east, viewer, sign_in):
    make_seen_more(east)
    Partition.objects.filter(topic__name="more").update(counted_text="|offline|")
    client = sign_in(viewer)
    assert "/clusters/east/partitions/?counted_as=offline" in text_of(client.get(page("east/")))
    answer = client.get(page("east/partitions/?counted_as=offline"))
    assert [row.topic.name for row in answer.context["table"].rows] == ["more"]


def make_seen_more(cluster):
    topic = cluster.topics.create(name="more", partition_count=1, changed_at=NOW)
    cluster.partitions.create(topic=topic, partition=0, replicas=[1], changed_at=NOW)


@pytest.mark.parametrize("group_id", ["team a/billing v2", "100%?#", "Zürich & Söhne"])
def test_a_group_with_any_name_has_a_page(east, viewer, sign_in, group_id):
    Group.objects.update(group_id=group_id)
    client = sign_in(viewer)
    link = client.get(page("east/groups/")).context["table"].body[0][1][1].link
    assert client.get(link).context["group"].group_id == group_id


@pytest.mark.parametrize("path", READS)
def test_every_page_names_its_api_call(east, viewer, sign_in, path):
    assert "GET /api/v1/" in text_of(sign_in(viewer).get(page(path)))


@pytest.mark.parametrize(
    ("path", "command"),
    [
        ("east/topics/", "kafka-topics.sh --bootstrap-server east.example:9092 --describe"),
        ("east/topics/topic-00000/", "--describe --topic topic-00000"),
        ("east/partitions/", "kafka-topics.sh --bootstrap-server east.example:9092 --describe"),
        ("east/partitions/?counted_as=under_min_isr", "--describe --under-min-isr-partitions"),
        ("east/partitions/?counted_as=offline", "--describe --unavailable-partitions"),
        ("east/groups/", "kafka-consumer-groups.sh --bootstrap-server east.example:9092"),
        ("east/groups/group-00000/", "--describe --group group-00000"),
    ],
)
def test_a_page_names_the_command_that_answers_the_same(east, viewer, sign_in, path, command):
    assert command in text_of(sign_in(viewer).get(page(path)))


def test_a_secured_cluster_needs_a_file_for_the_command(east, viewer, sign_in):
    Cluster.objects.update(security_protocol="SSL")
    assert "--command-config client.properties" in text_of(
        sign_in(viewer).get(page("east/topics/"))
    )


@pytest.mark.parametrize("path", TABLES)
def test_every_table_can_be_taken_away_as_csv(east, viewer, sign_in, path):
    answer = sign_in(viewer).get(page(path), {"format": "csv"})
    assert answer["Content-Type"].startswith("text/csv")
    assert len(b"".join(answer.streaming_content).splitlines()) == 2


@pytest.mark.parametrize("path", READS)
def test_a_page_takes_as_many_queries_for_one_row_as_for_three_hundred(east, viewer, sign_in, path):
    client = sign_in(viewer)
    one = count_queries(client, page(path))
    west = make_cluster("west")
    make_round(west, "brokers")
    Partition.objects.all().delete()
    Group.objects.all().delete()
    CollectionRound.objects.filter(cluster=east).delete()
    east.topics.all().delete()
    east.brokers.all().delete()
    make_seen(east, topics=100, partitions=3, groups=300)
    assert count_queries(client, page(path)) == one


def count_queries(client, path):
    with CaptureQueriesContext(connection) as captured:
        assert client.get(path).status_code == 200
    return len(captured)


def test_the_palette_finds_clusters_topics_and_groups(east, viewer, sign_in):
    found = sign_in(viewer).get("/frame/search/", {"q": "00000"}).json()["hits"]
    assert {(hit["kind"], hit["label"]) for hit in found} == {
        ("topic", "topic-00000"),
        ("consumer group", "group-00000"),
    }


def test_a_group_of_which_offsets_are_left_out_says_so(east, viewer, sign_in):
    told = f"{LEFT_OUT}70,000 partitions of the group are left out."
    Group.objects.filter(group_id="group-00000").update(error=told)
    text = text_of(sign_in(viewer).get(page("east/groups/group-00000/")))
    assert "Incomplete" in text
    assert told in text
    assert "Not described" not in text


def test_a_group_leads_an_operator_to_its_rebalances(east, viewer, operator, sign_in):
    link = "/runs/new/rebalances/?cluster=east&amp;group=group-00000"
    assert link in text_of(sign_in(operator).get(page("east/groups/group-00000/")))
    assert link not in text_of(sign_in(viewer).get(page("east/groups/group-00000/")))


def test_a_topic_leads_to_kinds_about_topics_only(east, operator, sign_in):
    text = text_of(sign_in(operator).get(page("east/topics/topic-00000/")))
    assert "/runs/new/topic-profile/" in text
    assert "/runs/new/rebalances/" not in text


def test_long_ids_of_groups_and_values_of_settings_are_cut(east, viewer, sign_in):
    Group.objects.filter(group_id="group-00000").update(group_id="g" * 1_000)
    Topic.objects.filter(name="topic-00000").update(configs={"cleanup.policy": "v" * 9_000})
    client = sign_in(viewer)
    assert ">" + "g" * 300 not in text_of(client.get(page("east/groups/")))
    assert "v" * 300 not in text_of(client.get(page("east/topics/topic-00000/")))
