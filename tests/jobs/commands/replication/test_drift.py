"""What `crosslog drift` says, and with which code it ends."""

import json
from argparse import Namespace
from pathlib import Path

import pytest

from jobs.cli import build_parser
from jobs.cluster.errors import Unreachable
from jobs.commands.replication.drift import lines, run
from jobs.replication.findings.selection_findings import SelectionFinding
from jobs.replication.topics.drift import AclDrift, ConfigDrift, DriftReport, TopicDrift

FLOW = """
name: f
source: {alias: east, bootstrap_servers: "127.0.0.1:1"}
target: {alias: west, bootstrap_servers: "127.0.0.1:2"}
"""
SAME = TopicDrift("orders", "east.orders", 3, 3, 1, 1)
RETENTION = ConfigDrift(
    "retention.ms", "7", "DYNAMIC_TOPIC_CONFIG", None, None, "set", "changed", False, True
)


def drift(**fields) -> TopicDrift:
    return TopicDrift("orders", "east.orders", 3, fields.pop("remote", 3), 1, 1, **fields)


@pytest.fixture
def asked(tmp_path, capsys):
    """Run the command with clusters that answer this report; return code, output and errors."""

    def asked(report: DriftReport | Exception, text: str = FLOW, *, as_json: bool = False):
        path = tmp_path / "flow.yaml"
        path.write_text(text)

        def answer(flow):
            assert flow.source.alias == "east"
            if isinstance(report, Exception):
                raise report
            return report

        code = run(Namespace(flow=path, json=as_json), answer)
        return code, *capsys.readouterr()

    return asked


def test_json_holds_findings_with_what_to_do(asked):
    _, told, _ = asked(DriftReport("f", (drift(remote=1),)), as_json=True)
    (finding,) = json.loads(told)["findings"]
    assert (finding["code"], finding["severity"]) == ("partitions_differ", "critical")
    assert finding["evidence"] == {"source_partitions": 3, "target_partitions": 1}
    assert finding["todo"]


def test_topics_that_are_equal_end_well(asked):
    code, told, _ = asked(DriftReport("f", (SAME,)))
    assert (code, told) == (0, "f: 0 of 1 topics differ.\n")


@pytest.mark.parametrize(
    ("report", "words"),
    [
        pytest.param(
            DriftReport("f", (drift(remote=1),)),
            "partitions: 3 on the source, 1 on the target",
            id="partitions",
        ),
        pytest.param(
            DriftReport("f", (drift(configs=(RETENTION,)),)),
            "retention.ms: 7 on the source, not set on the target (changed; the next sync: set)",
            id="setting",
        ),
        pytest.param(
            DriftReport("f", (drift(acls=AclDrift(missing=("READ for ann",))),)),
            "ACL missing on the target: READ for ann",
            id="ACL",
        ),
        pytest.param(
            DriftReport("f", (drift(problem="There is no remote topic."),)),
            "There is no remote topic.",
            id="problem",
        ),
        pytest.param(
            DriftReport("f", (SAME,), (SelectionFinding("x.internal", "Left out."),)),
            "x.internal: Left out.",
            id="surprise",
        ),
    ],
)
def test_drift_is_told_and_is_a_finding(asked, report, words):
    code, told, _ = asked(report)
    assert code == 1
    assert words in told


def test_what_the_next_sync_does_is_told():
    report = DriftReport("f", (drift(remote=1),), next_changes=("east.orders partitions: 1 -> 3",))
    assert list(lines(report))[-2:] == ["The next sync:", "  east.orders partitions: 1 -> 3"]


def test_json_is_the_report_and_nothing_else(asked):
    report = DriftReport("f", (drift(remote=1),))
    code, told, _ = asked(report, as_json=True)
    document = json.loads(told)
    del document["findings"]
    assert (code, document) == (1, json.loads(json.dumps(report.to_mapping())))


def test_a_flow_that_is_wrong_is_named_at_its_field(asked):
    code, told, errors = asked(DriftReport("f"), "name: f\n")
    assert (code, told) == (2, "")
    assert "source" in errors


def test_a_cluster_that_does_not_answer_is_an_error(asked):
    code, told, errors = asked(Unreachable("no broker answered", cluster="west"))
    assert (code, told) == (2, "")
    assert "west" in errors


def test_the_command_is_known():
    chosen = build_parser().parse_args(["drift", "flow.yaml", "--json"])
    assert (chosen.flow, chosen.json) == (Path("flow.yaml"), True)
