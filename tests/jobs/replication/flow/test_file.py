"""Flow files: good ones are read, bad ones say where they are wrong."""

import contextlib
import random

import pytest

from jobs.cluster.errors import InvalidFields
from jobs.cluster.settings_file import MOST_BYTES
from jobs.replication.flow.file import parse_flow, read_flow_file
from jobs.replication.flow.spec import FlowSpec
from tests.jobs.wire.mutations import TEXT_EDGES, damaged

GOOD = """
name: east to west
source:
  alias: east
  bootstrap_servers: 127.0.0.1:9092
target:
  alias: west
  bootstrap_servers: 127.0.0.1:9192
  security_protocol: SASL_SSL
  sasl_mechanism: SCRAM-SHA-512
  sasl_username: crosslog
  sasl_password: env:CROSSLOG_SECRET_WEST
topics:
  - orders
  - o{1,3}
tasks: 2
"""


def errors_of(text):
    with pytest.raises(InvalidFields) as caught:
        parse_flow(text)
    return caught.value.errors


def test_a_flow_file_is_a_flow(tmp_path):
    path = tmp_path / "flow.yaml"
    path.write_text(GOOD, encoding="utf-8")
    flow = read_flow_file(path)
    assert (flow.name, flow.topics, flow.tasks) == ("east to west", ("orders", "o{1,3}"), 2)
    assert str(flow.target.sasl_password) == "env:CROSSLOG_SECRET_WEST"
    assert FlowSpec.from_mapping(flow.to_mapping()) == flow


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("name: [", "Line 1, column 8", id="a bracket that never closes"),
        pytest.param("name: a\n\tsource: b", "Line 2, column 1", id="a tab"),
        pytest.param("name: a\nname: b", "Line 2, column 1: name is given twice", id="a key twice"),
        pytest.param("a: &x 1\nb: *x", "aliases are not allowed", id="an alias"),
        pytest.param(
            f"a: [{'1,' * 30_000}1]", "more than 20,000 names and values", id="more than is needed"
        ),
        pytest.param(
            "a: !!python/object:os.system x", "tags are not allowed", id="a Python object"
        ),
        pytest.param("a: !!timestamp x", "Line 1, column 4: tags", id="a tag that does not fit"),
        pytest.param("? [a]\n: b", "a list or a mapping is no key", id="a list for a name"),
        pytest.param(
            "a: 1" + ":0" * 200 + ".0", "does not exist", id="a number beyond all numbers"
        ),
        pytest.param("", "A flow is a mapping", id="empty"),
        pytest.param("- a", "A flow is a mapping", id="a list"),
        pytest.param("7: a", "7 is not the name", id="a number for a name"),
        pytest.param("a: \x00", "not YAML", id="a character that YAML does not allow"),
        pytest.param("[" * 5000, "", id="too deep"),
        pytest.param("a: 2026-99-99", "does not exist", id="a date that is none"),
    ],
)
def test_what_is_no_flow_file_says_where(text, words):
    assert words in errors_of(text)["file"]


def test_bad_settings_are_named_at_their_field():
    errors = errors_of(GOOD.replace("127.0.0.1:9092", "nowhere") + "task: 1\n")
    assert set(errors) == {"source.bootstrap_servers", "task"}


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        pytest.param("a{99999999999}", "most is 1,000", id="repeated beyond what there is"),
        pytest.param("a{0,1001}", "most is 1,000", id="repeated up to very often"),
        pytest.param("(a{1000}){1000}", "too large", id="repeats of repeats"),
        pytest.param("a" * 10_001, "more than 10,000", id="long"),
        pytest.param("(" * 4000 + ")" * 4000, "nested too deeply", id="nested"),
        pytest.param("a(", "not closed", id="no expression"),
    ],
)
@pytest.mark.parametrize("field", ["topics", "groups_exclude", "config_properties_exclude"])
def test_a_pattern_that_is_too_large_is_refused(field, pattern, words):
    text = GOOD.replace("topics:\n  - orders\n  - o{1,3}\n", "")
    assert words in errors_of(f"{text}{field}: ['{pattern}']\n")[field]


@pytest.mark.parametrize("seed", range(2))
def test_a_damaged_flow_file_is_read_or_refused(seed):
    chance = random.Random(seed)
    for _ in range(300):
        text = damaged(GOOD.encode(), chance, edges=TEXT_EDGES).decode("utf-8", "replace")
        with contextlib.suppress(InvalidFields):
            parse_flow(text)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b"name: \xff", "Byte 6 is not UTF-8", id="not UTF-8"),
        pytest.param(b"#" * (MOST_BYTES + 1), "larger than", id="too large"),
        pytest.param(None, "No such file", id="not there"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(tmp_path, content, words):
    path = tmp_path / "flow.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidFields) as caught:
        read_flow_file(path)
    assert words in caught.value.errors["file"]


def test_a_flow_between_two_aliases_of_one_cluster_is_refused():
    same = "  cluster_id: qYoMEZXcS_SKP2PzAl8-WA\n"
    text = GOOD.replace("127.0.0.1:9092\n", f"127.0.0.1:9092\n{same}")
    text = text.replace("127.0.0.1:9192\n", f"127.0.0.1:9192\n{same}")
    assert "cluster id qYoMEZXcS_SKP2PzAl8-WA" in errors_of(text)["target"]
