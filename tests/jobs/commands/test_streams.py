"""`crosslog streams` over a capture: applications, stores, keys; what it refuses."""

import json
from pathlib import Path

import pytest

from jobs.cli import main
from tests.jobs.streams.written import two_processes
from tests.support import REPORTED


def capture(tmp_path, **told):
    of = two_processes(**told)
    members = [
        {
            "member_id": one.member_id,
            "client_id": one.client_id,
            "client_host": one.client_host,
            "member_metadata_hex": one.metadata.hex(),
            "member_assignment_hex": one.assignment.hex(),
        }
        for one in of.members
    ]
    offsets = {str(number): [0, 10] for number in range(4)}
    content = {
        "group": "app",
        "captured_from": 1_800_000_000_000,
        "describe_groups": {
            "state": "Stable",
            "protocol_type": "consumer",
            "protocol": "stream",
            "members": members,
        },
        "committed": {"orders:0": {"offset": 7, "metadata": ""}},
        "topics": {
            name: {"partitions": 4, "offsets": offsets}
            for name in ("orders", "app-totals-changelog")
        },
    }
    path = tmp_path / "capture.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


def documents(capsys):
    return json.loads(capsys.readouterr().out)["applications"]


def test_an_application_is_printed_as_one_document(tmp_path, capsys):
    assert main(["streams", capture(tmp_path), "--json"]) == 0
    (told,) = documents(capsys)
    assert (told["application"], told["protocol"], told["state"]) == ("app", "classic", "Stable")
    assert [one["endpoint"] for one in told["processes"]] == ["h1:1", "h2:2"]
    assert told["stores"][0] | {"reason": ""} == {
        "store": "totals", "subtopology": "0", "candidates": ["0"], "confidence": "inferred",
        "reason": "", "source_topics": ["orders"], "changelog": "app-totals-changelog", "kind": None,
        "is_global": False,
    }  # fmt: skip
    first = told["tasks"][0]
    assert (first["task"], first["input"][0]["lag_records"]) == ("0_0", 3)
    assert told["application_answers"]["metadata"][0]["stores"] == ["totals"]


def test_a_person_reads_instances_stores_tasks_and_the_holder_of_a_key(tmp_path, capsys):
    assert main(["streams", capture(tmp_path), "--store", "totals", "--key", "alice"]) == 0
    said = capsys.readouterr().out
    for line in (
        "app  classic protocol, Stable",
        "h1:1  1 threads",
        "totals  in 0  (inferred)",
        "0_0  active h1:1  standby h2:2  lag 3",
        "key 616c696365 of totals",
        "served by h2:2",
        "the application answers h2:2: right.",
    ):
        assert line in said, line


def test_the_balance_is_printed_with_what_is_not_known(tmp_path, capsys):
    assert main(["streams", capture(tmp_path), "--application", "app", "--balance"]) == 0
    said = capsys.readouterr().out
    assert "h1:1  1 threads, 2 active, 2 copies, state not known" in said
    assert main(["streams", capture(tmp_path), "--balance", "--json"]) == 0
    (told,) = documents(capsys)
    assert told["balance"]["task_count"] == 4
    assert told["balance"]["instances"][0]["state_share"] is None


def test_conditions_of_the_moment_are_printed_and_do_not_change_the_exit_code(tmp_path, capsys):
    path = capture(tmp_path, second_endpoint="")
    assert main(["streams", path]) == 0
    said = capsys.readouterr().out
    assert "Critical: app has 1 of 2 instances without application.server: 10.0.0.2." in said
    assert main(["streams", path, "--json"]) == 0
    (told,) = documents(capsys)
    codes = {one["check"] for one in told["findings"]}
    assert codes == {"streams_keys_misrouted", "streams_endpoint_missing"}


def test_the_topology_is_printed_for_graphviz(tmp_path, capsys):
    assert main(["streams", capture(tmp_path), "--dot"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("digraph topology {\n")
    assert '[label="Subtopology 0\\ntotals", class="subtopology", shape=component];' in said


def test_a_description_gives_dot_its_processors(tmp_path, capsys):
    text = tmp_path / "described.txt"
    text.write_text(DESCRIBED.format(topics="orders"), encoding="utf-8")
    assert main(["streams", capture(tmp_path), "--topology", str(text), "--dot"]) == 0
    assert 'class="processor"' in capsys.readouterr().out


def test_a_wrong_answer_of_the_application_is_a_finding(tmp_path, capsys):
    path = capture(tmp_path, second_endpoint="")
    assert main(["streams", path, "--store", "totals", "--key", "alice", "--json"]) == 1
    (told,) = documents(capsys)
    own = told["for_key"]["application_answers"]
    assert (own["is_right"], own["misrouted_share"]) == (False, 0.75)
    assert "10.0.0.2 has no application.server" in own["reason"]
    assert told["for_key"]["active"]["place"] == "10.0.0.2"


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--application", "other"], "no Kafka Streams application other (seen: app)"),
        (["--store", "nothing"], "has no store nothing"),
        (["--key", "a"], "--key needs --store"),
        (["--store", "totals", "--key", "x", "--key-format", "hex"], "pairs of hexadecimal digits"),
        (["--store", "totals", "--key", "x", "--changelog"], "the connection to a cluster"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_a_sentence(tmp_path, capsys, more, told):
    assert main(["streams", capture(tmp_path), *more]) == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert told in found.err


def test_a_store_of_a_capture_without_applications_is_refused(tmp_path, capsys):
    path = tmp_path / "capture.json"
    path.write_text("[]")
    assert main(["streams", str(path), "--store", "totals"]) == 2
    assert "no Kafka Streams application with a store (seen: none)" in capsys.readouterr().err


def test_endpoints_that_lead_nowhere_are_noted_with_the_addresses_seen(capsys):
    """tests/conformance/reported/endpoint_nobody_can_reach"""
    path = REPORTED / "endpoint_nobody_can_reach" / "capture.json"
    assert main(["streams", str(path), "--store", "totals", "--key", "k"]) == 0
    told = capsys.readouterr().out
    for endpoint, address in [("0.0.0.0:7071", "10.0.0.1"), ("127.0.0.1:7072", "10.0.0.2")]:
        note = f"application.server {endpoint} leads nowhere from another machine"
        assert f"Note: {note}" in told
        assert f"Connected from {address}." in told
    assert told.count("application.server 0.0.0.0:7071 leads nowhere") == 2, "also beside the key"


DESCRIBED = (
    "Topologies:\n Sub-topology: 0\n  Source: s (topics: [{topics}])\n    --> p\n"
    "  Processor: p (stores: [totals])\n    --> none\n    <-- s\n"
)


def test_the_description_of_another_application_is_refused(tmp_path, capsys):
    described = tmp_path / "topology.txt"
    described.write_text(DESCRIBED.format(topics="nosuch"), encoding="utf-8")
    assert main(["streams", capture(tmp_path), "--topology", str(described)]) == 2
    told = capsys.readouterr().err
    assert f"{described}: It is the description of another application." in told
    assert "The description reads nosuch, which the application does not read." in told


def test_the_description_of_another_version_is_noted_and_not_used(tmp_path, capsys):
    described = tmp_path / "topology.txt"
    described.write_text(DESCRIBED.format(topics="orders, returns"), encoding="utf-8")
    assert main(["streams", capture(tmp_path), "--topology", str(described)]) == 0
    told = capsys.readouterr().out
    assert "Note: The description is not that of what runs, and is not used." in told
    assert "(inferred)" in told


SIZES = REPORTED / "streams_topics_of_different_sizes"


def asked_of_the_farm(capsys, store, key, *more):
    code = main(["streams", str(SIZES / "capture.json"), "--store", store, "--key", key, *more])
    return code, capsys.readouterr().out


def test_a_key_of_topics_of_different_size_has_all_its_places_and_no_verdict(capsys):
    """tests/conformance/reported/streams_topics_of_different_sizes"""
    described = ["--topology", str(SIZES / "describe.txt")]
    code, told = asked_of_the_farm(capsys, "totals", "k2", *described)
    assert code == 0
    for line in (
        "  possibly partition 3, task 0_3",
        "  possibly partition 1, task 0_1",
        "the application answers h1.example:7071: not known. The key may be in partition 3 or 1",
        "have different partition counts: the key may lie elsewhere",
        "3 (farm.milk: 6 partitions) or 1 (farm.eggs: 4 partitions)",
    ):
        assert line in told, line
    assert "right." not in told


@pytest.mark.parametrize("store", ["barn", "loft"])
def test_a_store_of_one_of_several_subtopologies_has_no_answer_of_the_application(capsys, store):
    code, told = asked_of_the_farm(capsys, store, "k1")
    assert code == 0
    assert "what the application answers is not known: The store is in subtopology 1 or 2" in told
    assert "a thread that is not known" in told


def test_a_key_of_a_global_store_is_served_by_every_process(capsys):
    """tests/conformance/reported/global_store_served_by_nobody"""
    code, told = asked_of_the_farm(capsys, "names", "k1", "--topology", str(SIZES / "describe.txt"))
    assert code == 0
    assert "  served by every process\n" in told
    assert "  the application answers any host that runs: right. " in told
    assert "KIP-535" in told
    assert "None" not in told


@pytest.mark.parametrize("path", sorted((REPORTED / "describe_of_other_versions").glob("*.txt")))
def test_a_description_of_another_version_is_used_or_noted(capsys, path):
    """tests/conformance/reported/describe_of_other_versions"""
    code, told = asked_of_the_farm(capsys, "totals", "k0", "--topology", str(path))
    assert code == 0
    assert (
        "The description is not that of what runs, and is not used. The application reads" in told
    )


def test_a_store_of_a_named_topology_is_found_by_both_names(tmp_path, capsys):
    path = capture(tmp_path, named="bill")
    text = (
        Path(path).read_text("utf-8").replace("app-totals-changelog", "app-bill-totals-changelog")
    )
    Path(path).write_text(text, encoding="utf-8")
    described = tmp_path / "topology.txt"
    body = DESCRIBED.format(topics="orders").removeprefix("Topologies:\n")
    described.write_text(f"Topology: bill:\n{body}", encoding="utf-8")
    for more in ([], ["--topology", str(described)]):
        for store in ("totals", "bill-totals"):
            asked = ["streams", path, "--store", store, "--key", "alice", *more]
            assert main(asked) == 0
            told = capsys.readouterr().out
            assert "partition 1, task bill__0_1" in told
            assert "the application answers h2:2: right." in told
    assert "bill-totals  in bill__0  (given)" in told


def test_a_description_gives_stores_that_no_topic_shows(tmp_path, capsys):
    text = (
        "Topologies:\n Sub-topology: 0\n  Source: s (topics: [orders])\n    --> p\n"
        "  Processor: p (stores: [totals, seen-ids])\n    --> none\n    <-- s\n"
    )
    described = tmp_path / "topology.txt"
    described.write_text(text, encoding="utf-8")
    assert main(["streams", capture(tmp_path), "--topology", str(described), "--json"]) == 0
    stores = {one["store"]: one for one in documents(capsys)[0]["stores"]}
    assert stores["seen-ids"]["confidence"] == "given"
    assert stores["seen-ids"]["changelog"] is None
