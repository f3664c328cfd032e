"""Who may not do something is told so, and listeners differ, on a real cluster with TLS, SASL and ACLs."""

import json

import pytest

from jobs.cli import main
from jobs.cluster.admin.quorum import describe_quorum
from jobs.cluster.connection import Connection
from jobs.cluster.errors import NotAuthorized
from jobs.quorum.log.archive_manifest import read_manifest
from jobs.quorum.log.follower import Mode
from jobs.quorum.log.source import MetadataSource
from tests.live.quorum.quorums import assert_same_bytes, following
from tests.waiting import eventually


def limited(secure):
    return secure.connection(
        "SASL_PLAINTEXT", "PLAIN", user="limited", password="CROSSLOG_SECRET_LAB_LIMITED"
    )


def controllers(secure) -> Connection:
    """Return the way to the controllers, whose listener has no authentication in this lab."""
    plan = secure.cluster.plan
    return Connection(plan.alias, plan.bootstrap_servers("CONTROLLER"))


def test_a_user_without_rights_may_not_describe_the_quorum(secure):
    with pytest.raises(NotAuthorized) as told:
        describe_quorum(limited(secure))
    assert "DESCRIBE" in told.value.hint


@pytest.mark.parametrize(
    ("protocol", "mechanism"),
    [("SASL_PLAINTEXT", "PLAIN"), ("SASL_SSL", "SCRAM-SHA-512"), ("SSL", None)],
)
def test_the_quorum_is_described_through_every_kind_of_listener(secure, protocol, mechanism):
    found = describe_quorum(secure.connection(protocol, mechanism))
    assert [one.id for one in found.voters] == [found.leader_id]


def test_the_quorum_is_described_by_its_controllers_too(secure):
    found = describe_quorum(controllers(secure))
    assert [one.id for one in found.voters] == [found.leader_id]


def test_where_the_controllers_want_other_credentials_the_quorum_is_polled(secure, tmp_path):
    source = MetadataSource(secure.connection("SASL_PLAINTEXT", "PLAIN"))
    with following(source, tmp_path / "a") as followed:
        eventually(lambda: any(one.quorum for one in followed.heard), 60)
    told = next(one for one in followed.heard if one.quorum)
    assert told.mode is Mode.POLLING
    assert told.lost
    assert told.fault is not None


def test_with_settings_of_their_own_the_controllers_are_followed(secure, tmp_path):
    # Whoever may not even describe the quorum as a client may still read its log as somebody else.
    source = MetadataSource(limited(secure), controllers(secure))
    with following(source, tmp_path / "a") as followed:
        eventually(lambda: any(one.is_at_end for one in followed.heard), 60)
    assert assert_same_bytes(tmp_path / "a", secure.cluster.node(1)) > 0


def test_the_command_reads_up_to_what_is_committed(secure, tmp_path, capsys):
    plan = secure.cluster.plan
    path = tmp_path / "connection.yaml"
    path.write_text(f"alias: {plan.alias}\nbootstrap_servers: {plan.bootstrap_servers()}\n")
    into = tmp_path / "a"
    code = main(["follow-metadata", str(path), "--into", str(into), "--until-caught-up", "--json"])
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert code == 0
    assert told[-1]["is_at_end"]
    assert told[-1]["next_offset"] == read_manifest(into).next_offset > 0
