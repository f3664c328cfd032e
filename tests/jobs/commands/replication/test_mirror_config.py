"""What `crosslog mirror-config` prints, and with which code it ends."""

import json

import pytest

from jobs.cli import main

GOOD = "clusters=A,B\nA.bootstrap.servers=a:1\nB.bootstrap.servers=b:1\nA->B.enabled=true\n"


@pytest.fixture
def asked(tmp_path, capsys):
    """Run the command over files with these texts; return code, output and errors."""

    def asked(*texts: str, options: tuple[str, ...] = ()):
        paths = []
        for number, text in enumerate(texts):
            path = tmp_path / f"{number}.properties"
            path.write_text(text)
            paths.append(str(path))
        return main(["mirror-config", *paths, *options]), *capsys.readouterr()

    return asked


def test_a_good_file_ends_with_0(asked):
    code, told, _ = asked(GOOD)
    assert code == 0
    assert "A->B" in told
    assert "source.cluster.bootstrap.servers = a:1" in told


def test_a_mistake_ends_with_1_and_is_told(asked):
    code, told, _ = asked(f"{GOOD}topics=*\n", options=("--lint",))
    assert code == 1
    assert "regex-invalid" in told
    assert "bootstrap" not in told


def test_an_address_that_is_none_ends_with_1_and_is_warned_of_in_an_export(asked):
    text = GOOD.replace("a:1", "=a:1")
    code, told, _ = asked(text, options=("--lint",))
    assert (code, "not-an-address" in told) == (1, True)
    code, told, errors = asked(text, options=("--export", "crosslog"))
    assert code == 0
    assert "A: the address '=a:1' is not of the form host:port." in errors


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        pytest.param("hello", (), "clusters", id="no configuration"),
        pytest.param(GOOD, ("--flow", "A->C"), "There is no flow A->C", id="no such flow"),
        pytest.param(
            "clusters={{ a }}\n",
            ("--lint",),
            "Line 1 holds {{: this is a template",
            id="a template",
        ),
        pytest.param(GOOD, ("--brokers", "B"), "ALIAS=VALUE", id="half an option"),
        pytest.param(GOOD, ("--brokers", "B=many"), "a number", id="no number"),
        pytest.param(GOOD, ("--topics", "A=/no/such/file"), "cannot be read", id="no such list"),
    ],
)
def test_bad_input_ends_with_2_and_says_why(asked, text, options, words):
    code, told, errors = asked(text, options=options)
    assert (code, told) == (2, "")
    assert words in errors


def test_json_holds_flows_values_with_origins_and_findings(asked):
    code, told, _ = asked(f"{GOOD}A->B.enable=true\n", options=("--json", "--flow", "A->B"))
    document = json.loads(told)
    (flow,) = document["flows"]
    source = next(c for c in flow["connectors"] if c["class"] == "MirrorSourceConnector")
    assert code == 1
    assert (flow["flow"], flow["enabled"], flow["heartbeats"]) == ("A->B", True, True)
    assert source["config"]["enabled"] == {
        "value": "true",
        "provenance": "A->B.enabled",
        "origin": source["config"]["enabled"]["file"] + ":4: A->B.enabled",
        "kind": "key",
        "file": source["config"]["enabled"]["file"],
        "line": 4,
        "secret": False,
    }
    assert source["config"]["offset.lag.max"]["provenance"] == "default"
    assert document["cluster_pairs"] == ["A->B", "B->A"]
    assert [f["code"] for f in document["findings"] if f["severity"] != "info"] == [
        "misspelled-key"
    ]


def test_a_flow_that_is_not_enabled_can_be_asked_about(asked):
    _, told, _ = asked(
        f"{GOOD}emit.heartbeats.enabled=false\n", options=("--json", "--flow", "B->A")
    )
    (flow,) = json.loads(told)["flows"]
    assert (flow["flow"], flow["enabled"]) == ("B->A", False)


def test_brokers_and_topics_can_be_told(asked, tmp_path):
    names = tmp_path / "topics.txt"
    names.write_text("B.orders\norders\n")
    options = ("--lint", "--brokers", "B=1", "--topics", f"A={names}")
    code, told, _ = asked(GOOD, options=options)
    assert code == 1
    assert "[replication-factor]" in told
    assert "[looks-like-a-cycle]" in told


def test_several_files_are_read_together(asked):
    code, told, _ = asked(GOOD, f"{GOOD}tasks.max=2\n", options=("--lint",))
    assert code == 1
    assert "[flow-twice]" in told


@pytest.mark.parametrize(
    ("form", "words"),
    [
        pytest.param("properties", "A->B.enabled = true", id="properties"),
        pytest.param("connect", '"connector.class"', id="connect"),
        pytest.param("strimzi", "kind: KafkaMirrorMaker2", id="strimzi"),
        pytest.param("crosslog", "bootstrap_servers: a:1", id="crosslog"),
    ],
)
def test_the_same_is_printed_in_another_form(asked, form, words):
    code, told, _ = asked(GOOD, options=("--export", form))
    assert code == 0
    assert words in told


def test_what_does_not_carry_over_goes_to_standard_error(asked):
    _, told, errors = asked(f"{GOOD}offset.lag.max=0\n", options=("--export", "crosslog"))
    assert "offset.lag.max" in errors
    assert "offset.lag.max" not in told


def test_nothing_to_export_ends_with_1(asked):
    code, told, errors = asked(GOOD.replace("true", "false"), options=("--export", "connect"))
    assert (code, told) == (1, "")
    assert "No flow is enabled" in errors
