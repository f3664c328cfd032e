"""What `crosslog design` prints, and with which code it ends."""

import json

import pytest

from jobs.cli import main

SITES = ("--site", "west=1,2,3", "--site", "east=4,5,6", "--site", "hub=")
STANDBYS = ("--observers", "fenced-standby", "--standby", "3", "--standby", "6")


@pytest.fixture
def asked(capsys):
    """Ask for a design; return code, output and errors."""

    def asked(*options):
        return main(["design", *map(str, options)]), *capsys.readouterr()

    return asked


def test_a_design_is_printed_with_its_reasons_and_commands(asked):
    code, told, _ = asked(*SITES, *STANDBYS, "--topic", "orders", "--bootstrap-server", "b:9092")
    assert code == 0
    assert told.startswith("west: 2 replicas, 1 observers (standby 3), 2 voters\n")
    assert "min.insync.replicas 3" in told
    assert "  $ bin/kafka-topics.sh --bootstrap-server b:9092 --create --topic orders" in told


def test_the_json_holds_a_cluster_that_what_if_takes(asked):
    code, told, _ = asked(*SITES, *STANDBYS, "--json")
    made = json.loads(told)
    assert (code, made["possible"], made["min_insync_replicas"]) == (0, True, 3)
    assert made["cluster"]


def test_a_file_holds_a_wish_and_options_say_something_else(asked, tmp_path):
    wish = {"sites": [{"name": "a", "brokers": [1, 2, 3]}], "rpo": "any"}
    file = tmp_path / "wish.json"
    file.write_text(json.dumps(wish), encoding="utf-8")
    code, told, _ = asked(file, "--writable-after", "broker")
    assert code == 0
    assert told.startswith("a: 3 replicas")


def test_an_impossible_wish_is_a_finding_with_what_would_be_possible(asked):
    code, told, _ = asked(*SITES)
    assert code == 1
    assert "observers: Impossible with these sites" in told
    code, told, _ = asked(*SITES, "--json")
    assert code == 1
    assert set(json.loads(told)["problems"]) == {"writable_after", "rpo", "observers"}


BAD = [
    pytest.param(("--site", "west"), "NAME=ID", id="a site without a sign"),
    pytest.param(("--site", "west=x"), "'x' is not a broker id", id="a broker that is no number"),
    pytest.param(("--site", "west=1", "--site", "west=2"), "sites[1].name", id="a name twice"),
    pytest.param((*SITES, "--voters", "4"), "voters:", id="an even number of voters"),
    pytest.param((*SITES, "--observers", "fenced-standby", "--standby", "9"), "standbys", id="9"),
    pytest.param((), "sites:", id="nothing"),
    pytest.param(("/no/such/file.json",), "No such file", id="no file"),
]


@pytest.mark.parametrize(("options", "words"), BAD)
def test_bad_input_is_told_on_stderr(asked, options, words):
    code, told, errors = asked(*options)
    assert (code, told) == (2, "")
    assert words in errors


@pytest.mark.parametrize(
    "text", ["{", "[]", '"a"', "[" * 100_000], ids=["half", "list", "text", "deep"]
)
def test_a_file_that_is_no_wish_is_bad_input(asked, tmp_path, text):
    file = tmp_path / "wish.json"
    file.write_text(text, encoding="utf-8")
    code, _, errors = asked(file)
    assert code == 2
    assert errors


def test_a_large_file_is_refused_unread(asked, tmp_path):
    file = tmp_path / "wish.json"
    file.write_bytes(b" " * ((1 << 20) + 1))
    code, _, errors = asked(file)
    assert (code, "larger than 1,048,576 bytes" in errors) == (2, True)
