"""What a person may do with clusters."""

from functools import partial

import pytest
from django.db import models

from console.clusters import actions
from console.clusters.models import RESERVED_ALIASES, Broker, Cluster, CollectionRound, Topic
from console.frame.errors import ActionRefused
from console.replication.flows.models import ReplicationFlow
from jobs.cluster.check import ConnectionCheck
from jobs.cluster.errors import (
    AuthenticationFailed,
    ClusterIdChanged,
    InvalidFields,
    SecretMissing,
    SeveralClusters,
    TimedOut,
    TlsFailed,
    Unreachable,
)
from tests.console.api.operations import OPERATIONS
from tests.console.clusters.making import NOW, later, make_cluster, make_seen

pytestmark = pytest.mark.django_db

VALUES = {"alias": "east", "bootstrap_servers": "kafka-1.example:9092"}


def answers(connection):
    """A cluster that answers well."""
    return ConnectionCheck(
        "id-1", (), frozenset({"DESCRIBE", "CREATE"}), ("No broker.rack is set.",)
    )


def refuses(fault, **values):
    """A cluster that refuses with this fault."""

    def check(connection):
        refusal = fault("it said no.", cluster=connection.alias)
        for name, value in values.items():
            setattr(refusal, name, value)
        raise refusal

    return check


def test_a_cluster_that_answers_is_saved_with_what_the_check_found():
    actions.create_cluster(VALUES, NOW, check=answers)
    cluster = Cluster.objects.get()
    assert (cluster.cluster_id, cluster.checked_at) == ("id-1", NOW)
    assert (cluster.operations, cluster.findings) == (
        ["CREATE", "DESCRIBE"],
        ["No broker.rack is set."],
    )


@pytest.mark.parametrize(
    ("fault", "field"),
    [
        pytest.param(Unreachable, "bootstrap_servers", id="unreachable"),
        pytest.param(TlsFailed, "security_protocol", id="tls"),
        pytest.param(AuthenticationFailed, "sasl_password", id="credentials"),
        pytest.param(SecretMissing, None, id="secret"),
    ],
)
def test_a_refusal_of_the_cluster_stands_at_its_field_and_nothing_is_saved(fault, field):
    with pytest.raises(ActionRefused) as refusal:
        actions.create_cluster(VALUES, NOW, check=refuses(fault))
    assert refusal.value.code == fault.code
    assert field is None or list(refusal.value.fields) == [field]
    assert not Cluster.objects.exists()


def test_an_unreachable_cluster_is_saved_only_when_that_is_wanted():
    check = refuses(Unreachable)
    cluster = actions.create_cluster(VALUES, NOW, save_unchecked=True, check=check)
    assert cluster.cluster_id == ""
    assert cluster.findings[0].startswith("it said no.")


@pytest.mark.parametrize(
    ("values", "field"),
    [
        pytest.param({"alias": "a.b"}, "alias", id="a dot in the alias"),
        pytest.param({"alias": "new"}, "alias", id="a word of our own addresses"),
        pytest.param({"alias": "partitions"}, "alias", id="a word of the API's addresses"),
        pytest.param({"bootstrap_servers": "kafka"}, "bootstrap_servers", id="no port"),
        pytest.param({"sasl_password": "hunter2"}, "sasl_password", id="a secret itself"),
        pytest.param({"security_protocol": "SASL_SSL"}, "sasl_username", id="credentials missing"),
        pytest.param({"sasl.jaas.config": "x"}, "sasl.jaas.config", id="free configuration"),
        pytest.param({"cluster_id": "mine"}, "cluster_id", id="a reported id"),
        pytest.param({"sasl_username": "eva"}, "sasl_username", id="a login without SASL"),
        pytest.param({"ssl_ca": "file:ca.pem"}, "ssl_ca", id="a CA without TLS"),
    ],
)
def test_settings_that_do_not_fit_are_refused_at_their_field(values, field):
    with pytest.raises(InvalidFields) as refusal:
        actions.create_cluster(VALUES | values, NOW, check=answers)
    assert field in refusal.value.errors


def test_a_port_that_does_not_answer_like_kafka_says_that_nothing_was_saved():
    with pytest.raises(ActionRefused, match="Nothing was saved"):
        actions.create_cluster(VALUES, NOW, check=refuses(TimedOut))


def test_a_login_that_an_older_release_stored_beside_plaintext_stays_usable():
    cluster = make_cluster("east", sasl_username="eva")
    actions.change_cluster(cluster, {"is_enabled": False}, NOW, check=answers)
    assert cluster.connection().sasl_username == "eva"


def test_no_alias_is_a_word_beside_which_aliases_stand_in_an_address():
    paths = [one.values[1].strip("/").split("/") for one in OPERATIONS]
    rooms = {tuple(one[:-1]) for one in paths if one[-1] == "{alias}"}
    words = {one[-1] for one in paths if tuple(one[:-1]) in rooms} - {"{alias}"}
    assert words | {"new"} == set(RESERVED_ALIASES)


def test_an_alias_is_given_once():
    make_cluster("east")
    with pytest.raises(InvalidFields, match="A cluster with the alias east is already registered"):
        actions.create_cluster(VALUES, NOW, check=answers)


def test_the_alias_stays():
    with pytest.raises(InvalidFields, match="The alias cannot be changed"):
        actions.change_cluster(make_cluster("east"), {"alias": "west"}, NOW, check=answers)


def test_changed_settings_are_checked_against_the_registered_id():
    seen = []

    def check(connection):
        seen.append(connection.cluster_id)
        return answers(connection)

    cluster = make_cluster("east", cluster_id="id-1")
    actions.change_cluster(cluster, {"bootstrap_servers": "other:9092"}, NOW, check=check)
    cluster.refresh_from_db()
    assert (seen, cluster.bootstrap_servers) == (["id-1"], "other:9092")


def test_switching_collection_off_asks_nobody():
    cluster = make_cluster("east")
    actions.change_cluster(cluster, {"is_enabled": False}, NOW, check=refuses(Unreachable))
    cluster.refresh_from_db()
    assert cluster.is_enabled is False


def test_a_check_that_finds_another_cluster_remembers_its_id():
    cluster = make_cluster("east", cluster_id="id-1")
    with pytest.raises(ActionRefused):
        actions.recheck_cluster(cluster, NOW, refuses(ClusterIdChanged, found="id-2"))
    cluster.refresh_from_db()
    assert (cluster.cluster_id, cluster.seen_cluster_id) == ("id-1", "id-2")


def test_confirming_the_seen_id_takes_it_and_forgets_the_rows_of_the_old_cluster():
    cluster = make_cluster("east", cluster_id="id-1", seen_cluster_id="id-2")
    make_seen(cluster)
    actions.confirm_cluster_id(cluster, "id-2")
    cluster.refresh_from_db()
    assert (cluster.cluster_id, cluster.seen_cluster_id) == ("id-2", "")
    assert not Topic.objects.exists()
    assert not Broker.objects.exists()


def test_after_a_confirmation_all_rounds_are_due():
    cluster = make_cluster("east", cluster_id="id-1", seen_cluster_id="id-2")
    make_seen(cluster)
    CollectionRound.objects.update(claimed_until=later(60))
    actions.confirm_cluster_id(cluster, "id-2")
    assert not CollectionRound.objects.exclude(claimed_until=None).exists()


@pytest.mark.parametrize("told", ["", "id-3", "id-1"], ids=["none", "never seen", "the old one"])
def test_an_id_that_was_not_seen_cannot_be_confirmed(told):
    cluster = make_cluster("east", cluster_id="id-1", seen_cluster_id="id-2")
    make_seen(cluster)
    with pytest.raises(ActionRefused):
        actions.confirm_cluster_id(cluster, told)
    assert Topic.objects.exists()


def test_without_a_seen_id_nothing_can_be_confirmed():
    with pytest.raises(ActionRefused):
        actions.confirm_cluster_id(make_cluster("east", cluster_id="id-1"), "")


def test_a_cluster_that_a_flow_uses_is_not_forgotten():
    east, west = make_cluster("east"), make_cluster("west")
    ReplicationFlow.objects.create(name="orders", source=east, target=west, created_at=NOW)
    with pytest.raises(ActionRefused, match="orders"):
        actions.delete_cluster(east)


def test_a_cluster_that_nobody_uses_is_forgotten_with_everything_seen_of_it():
    cluster = make_cluster("east")
    make_seen(cluster)
    actions.delete_cluster(cluster)
    assert not Topic.objects.exists()


def test_no_column_of_a_cluster_holds_a_secret():
    names = {f.name for f in Cluster._meta.get_fields() if isinstance(f, models.CharField)}
    cluster = make_cluster("east", sasl_password="env:CROSSLOG_SECRET_EAST")
    assert "sasl_password" in names
    assert str(cluster.connection().sasl_password) == "env:CROSSLOG_SECRET_EAST"


# --- one cluster, one alias ---


def registers(check=answers):
    actions.create_cluster(VALUES | {"alias": "mirror"}, NOW, check=check)


def changes(check=answers):
    cluster = make_cluster("mirror")
    actions.change_cluster(cluster, {"bootstrap_servers": "other:9092"}, NOW, check=check)


def checks(check=answers):
    actions.recheck_cluster(make_cluster("mirror"), NOW, check)


def tries(check=answers):
    actions.check_settings(VALUES | {"alias": "mirror"}, check)


def confirms():
    actions.confirm_cluster_id(make_cluster("mirror", seen_cluster_id="id-1"), "id-1")


@pytest.mark.parametrize("do", [registers, changes, checks, tries, confirms])
def test_a_cluster_that_is_registered_under_another_alias_is_refused_with_its_id(do):
    make_cluster("east", cluster_id="id-1")
    with pytest.raises(ActionRefused) as refusal:
        do()
    assert refusal.value.message == "Cluster id-1 is already registered as east."
    assert list(refusal.value.fields) == ["bootstrap_servers"]
    assert Cluster.objects.filter(cluster_id="id-1").count() == 1


@pytest.mark.parametrize("save_unchecked", [False, True], ids=["checked", "save unchecked"])
@pytest.mark.parametrize("do", ["create", "change"])
def test_bootstrap_servers_of_two_clusters_are_never_saved(do, save_unchecked):
    check, cluster = refuses(SeveralClusters), make_cluster("mixed", cluster_id="id-1")
    values = VALUES | {"alias": "mixed" if do == "change" else "new-one"}
    save = {"create": actions.create_cluster, "change": partial(actions.change_cluster, cluster)}[
        do
    ]
    with pytest.raises(ActionRefused) as refusal:
        save(values, NOW, save_unchecked=save_unchecked, check=check)
    assert list(refusal.value.fields) == ["bootstrap_servers"]
    assert Cluster.objects.get().bootstrap_servers == "mixed.example:9092"
