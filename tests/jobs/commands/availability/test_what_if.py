"""What `crosslog what-if` prints, and with which code it ends."""

import json

import pytest

from jobs.cli import main
from tests.support import CONFORMANCE

CASES = CONFORMANCE / "placements" / "cases.json"
CLUSTER = {
    "brokers": {"1": "west", "2": "west", "3": "east", "4": "east"},
    "voters": [1, 2, 3],
    "topics": [
        {"name": "orders", "min_insync_replicas": 2, "partitions": [{"replicas": [1, 2, 3]}]},
        {"name": "payments", "partitions": [{"replicas": [3, 4]}, {"partition": 1, "replicas": [4]}]},
    ],
}  # fmt: skip


@pytest.fixture
def asked(tmp_path, capsys):
    """Ask about a cluster; return code, output and errors."""

    def asked(*options, document=CLUSTER):
        path = tmp_path / "cluster.json"
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return main(["what-if", str(path), *options]), *capsys.readouterr()

    return asked


def test_one_document_tells_each_partition_before_and_after_and_the_quorum(asked):
    code, told, errors = asked("--lose-broker", "1", "--json")
    document = json.loads(told)
    assert (code, errors) == (0, "")
    assert document["partitions"][0] == {
        "topic": "orders",
        "partition": 0,
        "before": {
            "leader": 1, "isr": [1, 2, 3], "elr": [], "last_known_elr": [], "observers_in_isr": 0,
            "observer_ids_in_isr": [], "writable": True, "severity": "ok",
        },
        "after": {
            "leader": 2, "isr": [2, 3], "elr": [], "last_known_elr": [], "observers_in_isr": 0,
            "observer_ids_in_isr": [], "writable": True, "severity": "at_min_isr",
        },
        "changed": True,
        "severity": "at_min_isr",
        "data_at_risk": "none",
        "data_at_risk_reason": "Every acknowledged record is on the replicas in the ISR.",
        "records_at_risk": None,
        "needs_unclean": False,
        "promoter": "none",
        "promoted": [],
        "demoted": [],
        "min_insync_replicas": 2,
        "condition": "",
    }  # fmt: skip
    assert document["quorum"]["after"]["alive"] == [2, 3]
    assert document["quorum"]["after"]["failures_tolerated"] == 0
    assert (document["harm"], document["cluster"]["partitions"]) == (False, 3)
    assert [one["topic"] for one in document["steps"][0]["partitions"]] == ["orders"]


def test_what_stops_writes_is_a_finding(asked):
    code, told, _ = asked("--lose-rack", "east", "--json")
    document = json.loads(told)
    assert code == 1
    assert document["harm"] is True
    assert {name: one["became_unwritable"] for name, one in document["topics"].items()} == {
        "orders": 0,
        "payments": 2,
    }


def test_a_lost_majority_is_a_finding_even_where_all_partitions_continue(asked):
    document = {**CLUSTER, "voters": [101, 102]}
    code, told, _ = asked("--lose-controller", "101", document=document)
    assert code == 1
    assert "1 of 2 voters alive, 2 needed: no majority" in told


def test_losses_follow_each_other_in_the_order_given(asked):
    _, told, _ = asked("--lose-rack", "east", "--lose-broker", "1", "--lose-rack", "west", "--json")
    names = [one["name"] for one in json.loads(told)["steps"]]
    assert names == ["lose rack east", "lose broker 1", "lose rack west"]


def test_losses_may_happen_together(asked):
    _, told, _ = asked("--lose-broker", "1", "--lose-broker", "3", "--together", "--json")
    assert [one["name"] for one in json.loads(told)["steps"]] == ["lose broker 1, broker 3"]


def test_an_unclean_election_may_follow(asked):
    partition = {"topic": "t", "replicas": [1, 3], "isr": [1], "lag_records": {"3": 12}}
    document = {"brokers": CLUSTER["brokers"], "partitions": [partition]}
    code, told, _ = asked("--lose-broker", "1", "--unclean", document=document)
    assert code == 1
    assert "leader 3 isr [3]" in told
    assert "12 records that it lacked are lost" in told


def test_a_person_reads_a_table_of_what_changes_and_the_quorum(asked):
    code, told, _ = asked("--lose-rack", "west")
    assert code == 1
    assert "quorum now: 3 of 3 voters alive, 2 needed: failures tolerated: 1." in told
    assert "lose rack west" in told
    assert "no majority" in told
    (line,) = [line for line in told.splitlines() if line.startswith("  orders-0")]
    assert "leader 1 isr [1,2,3]" in line
    assert "offline, no writes" in line
    assert "payments-0" not in told


def test_many_changes_are_cut_for_a_person(asked):
    many = [{"topic": "t", "partition": n, "replicas": [1, 2]} for n in range(60)]
    _, told, _ = asked("--lose-broker", "1", document={"partitions": many})
    assert "and 20 more: --json prints all" in told


def test_one_topic_can_be_asked_for(asked):
    _, told, _ = asked("--lose-rack", "east", "--topic", "payments", "--json")
    document = json.loads(told)
    assert {one["topic"] for one in document["partitions"]} == {"payments"}
    assert list(document["topics"]) == ["payments"]
    assert document["cluster"]["partitions"] == 3


def test_the_matrix_tells_every_single_failure_and_the_worst(asked):
    code, told, _ = asked("--matrix")
    lines = told.splitlines()
    assert code == 1
    assert lines[1].split() == ["loss", "no", "writes", "not", "known", "offline", "lost", "waiting", "one", "copy", "new", "leader", "quorum"]  # fmt: skip
    assert [line.split("  ")[0] for line in lines[2:-2]] == [
        "rack east", "rack west", "broker 1", "broker 2", "broker 3", "broker 4"
    ]  # fmt: skip
    assert lines[-1].startswith("worst single failure: rack east: 2 of 3 partitions refuse writes")


def test_the_matrix_of_losses_that_are_named(asked):
    code, told, _ = asked("--matrix", "--lose-broker", "1", "--lose-rack", "east", "--json")
    document = json.loads(told)
    assert code == 1
    assert [one["name"] for one in document["losses"]] == ["lose broker 1", "lose rack east"]
    assert document["losses"][1]["topics"]["payments"]["unwritable"] == 2
    assert document["worst_single_failure"]["name"] == "rack east"


def test_confluents_cases_are_read_as_they_are(capsys):
    assert main(["what-if", str(CASES), "--lose-rack", "west", "--json"]) == 1
    found = {
        one["topic"]: one["after"] for one in json.loads(capsys.readouterr().out)["partitions"]
    }
    assert (found["t1"]["isr"], found["t1"]["writable"]) == ([21, 22], False)
    assert found["multi-region-async"]["leader"] is None
    assert (found["multi-region-sync"]["leader"], found["multi-region-sync"]["isr"]) == (3, [3, 4])


def test_the_steps_of_a_case_are_told_where_no_loss_is_named(asked):
    document = {
        "brokers": CLUSTER["brokers"],
        "topic": "t",
        "placement": {"replicas": [{"count": 2, "constraints": {"rack": "west"}}]},
        "steps": [{"event": "steady"}, {"event": {"fail_brokers": [1]}}],
    }
    code, told, _ = asked("--json", document=document)
    assert code == 0
    assert [one["name"] for one in json.loads(told)["steps"]] == ["steady", "lose broker 1"]


@pytest.mark.parametrize(
    ("options", "document", "sentence"),
    [
        ((), CLUSTER, "Say what is lost: --lose-rack, --lose-broker, --lose-controller."),
        (("--lose-rack", "mars"), CLUSTER, "--lose-rack: Nothing is in rack mars; racks are east, west."),
        (("--lose-broker", "9"), CLUSTER, "--lose-broker: Unknown broker: 9. Brokers: 1, 2, 3, 4."),
        (("--lose-controller", "9"), CLUSTER, "--lose-controller: Unknown voter: 9. Voters: 1, 2, 3."),
        (("--matrix", "--lose-rack", "mars"), CLUSTER, "--lose-rack: Nothing is in rack mars"),
        (("--lose-broker", "1", "--topic", "x"), CLUSTER, "--topic: There is no topic x."),
        (("--lose-broker", "1"), "{", "It is no JSON"),
        (("--lose-broker", "1"), "[" * 100_000, "nested too deeply"),
        (("--lose-broker", "1"), 7, "An object is wanted."),
        (("--lose-broker", "1"), [], "A cluster has partitions"),
        (("--lose-broker", "1"), "brokers:\n- 1\n", "neither JSON nor what kafka-topics.sh --describe prints"),
        (
            ("--lose-broker", "1"),
            "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2\n",
            "line 1: Isr of a partition is wanted; is the line cut?",
        ),
        (
            ("--lose-broker", "1"),
            {"partitions": [{"topic": "t", "replicas": [1], "isr": [2]}]},
            "partitions[0].isr: Broker 2 holds no replica of it.",
        ),
    ],
    ids=["no loss", "rack", "broker", "controller", "in the matrix", "topic", "text", "nested", "number", "list", "YAML", "cut", "isr"],
)  # fmt: skip
def test_what_is_wrong_is_told_at_its_field(asked, options, document, sentence):
    code, told, errors = asked(*options, document=document)
    assert (code, told) == (2, "")
    assert sentence in errors


def test_a_file_that_is_not_there_is_bad_input(capsys):
    assert main(["what-if", "nowhere.json", "--lose-broker", "1"]) == 2
    assert "nowhere.json" in capsys.readouterr().err


def test_an_id_that_is_no_number_is_bad_input(asked):
    with pytest.raises(SystemExit) as ended:
        asked("--lose-broker", "one")
    assert ended.value.code == 2


OPEN = {
    "brokers": [{"id": 1, "alive": False}, 2, 3],
    "topics": [
        {
            "name": "t",
            "min_isr": 1,
            "partitions": [{"replicas": [1, 2], "isr": [1], "leader": None}],
        }
    ],
}


def test_a_partition_that_stays_without_a_leader_says_that_unclean_is_not_known(asked):
    told = asked("--lose-broker", "3", document=OPEN)[1]
    assert "  t-0: unclean.leader.election.enable is not known: no leader if it is false;" in told


def test_the_matrix_says_which_settings_are_not_known(asked):
    document = {"topics": [{"name": "t", "partitions": [{"replicas": [1, 2], "isr": [1]}]}]}
    told = asked("--matrix", document=document)[1]
    assert "min.insync.replicas of 1 of 1 partitions is not known" in told
    assert "unclean.leader.election.enable of 1 of 1 partitions is not known" in told
