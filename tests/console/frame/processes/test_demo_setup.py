"""What the demo does in the console, against a console that answers as the real one does."""

import re
from typing import Any

import pytest

from console.frame.management.commands.demo import console_program
from console.frame.processes.demo_client import Refused
from console.frame.processes.demo_setup import (
    ABOUT,
    ALSO,
    DEFINITION,
    EXTRACTOR,
    FLOW,
    MIRRORED,
    TOPICS,
    WATCHED_FLOW,
    DemoSetup,
)
from console.frame.processes.supervisor import StartFailed
from jobs.lab.daemon import MIRRORED as PREFIX
from jobs.lab.traffic.writers import IDLE_GROUP as WRITERS_IDLE_GROUP
from jobs.spark.analyses.kinds import QUESTIONS
from jobs.tracing.extractors.extractor import Extractor


class FakeDemoClient:
    """Answers from a list per path (the last answer stays) and remembers what was posted."""

    def __init__(self, answers: dict[str, list[Any]]) -> None:
        self.answers = answers
        self.posted: list[tuple[str, Any]] = []

    def get(self, path: str) -> Any:
        return self._next(path)

    def post(self, path: str, values: Any = None) -> Any:
        self.posted.append((path, values))
        return self._next(path)

    def _next(self, path: str) -> Any:
        answers = self.answers[path]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def row(position: int | None, log_start_offset: int = 0) -> dict[str, Any]:
    return {
        "topic": "orders",
        "partition": 0,
        "position": position,
        "log_start_offset": log_start_offset,
    }


def show(client: FakeDemoClient) -> DemoSetup:
    return DemoSetup(client, say=lambda text: None, watch=lambda: None)


def wait(pages: list[list[dict[str, Any]]], timeout_s: float = 20.0) -> Any:
    answers = [{"results": rows} for rows in pages]
    client = FakeDemoClient({"api/v1/flows/7/partitions/?limit=500": answers})
    return show(client).wait_for_record(7, timeout_s)


def test_a_registered_cluster_is_left_as_it_is():
    client = FakeDemoClient({"api/v1/clusters/east/": [{"alias": "east"}]})
    show(client).register_cluster("east", "127.0.0.1:19092", 5)
    assert client.posted == []


def test_a_cluster_is_registered_as_soon_as_it_answers():
    client = FakeDemoClient(
        {
            "api/v1/clusters/east/": [Refused(404, "not found")],
            "api/v1/clusters/": [Refused(503, "not reachable"), {"alias": "east"}],
        }
    )
    show(client).register_cluster("east", "127.0.0.1:19092", 5)
    assert [path for path, _ in client.posted] == ["api/v1/clusters/"] * 2


def test_a_refusal_that_waiting_does_not_heal_is_told():
    client = FakeDemoClient(
        {
            "api/v1/clusters/east/": [Refused(404, "not found")],
            "api/v1/clusters/": [Refused(403, "This needs the role admin.")],
        }
    )
    with pytest.raises(Refused, match="role admin"):
        show(client).register_cluster("east", "127.0.0.1:19092", 5)


def test_the_group_that_reads_nothing_is_excluded_once():
    path = "api/v1/check-settings/"
    there = {"results": [{"id": 1}]}
    client = FakeDemoClient(
        {
            f"{path}?check=group_lag_time": [there],
            f"{path}?check=group_lag_growing": [{"results": []}],
            path: [{}],
        }
    )
    show(client).exclude_idle_group()
    ((_, values),) = client.posted
    assert values.pop("note")
    assert values == {
        "check": "group_lag_growing",
        "group_pattern": WRITERS_IDLE_GROUP.group_id,
        "is_excluded": True,
    }


def test_the_flow_of_the_last_demo_is_started_again():
    client = FakeDemoClient(
        {
            "api/v1/flows/?limit=500": [{"results": [{"id": 7, "name": FLOW}]}],
            "api/v1/flows/7/start/": [{}],
        }
    )
    assert show(client).ensure_flow() == 7
    assert [path for path, _ in client.posted] == ["api/v1/flows/7/start/"]


def test_a_new_flow_starts_at_once():
    client = FakeDemoClient(
        {"api/v1/flows/?limit=500": [{"results": []}], "api/v1/flows/": [{"id": 1}]}
    )
    assert show(client).ensure_flow() == 1
    assert client.posted[0][1]["start"] is True


def test_the_flow_of_mirror_maker_is_only_watched_and_never_started():
    client = FakeDemoClient(
        {"api/v1/flows/?limit=500": [{"results": []}], "api/v1/flows/": [{"id": 2}]}
    )
    assert show(client).ensure_watched_flow() == 2
    ((_, values),) = client.posted
    assert values["copied_by"] == "mirror_maker"
    assert "start" not in values


def test_the_watched_flow_of_the_last_demo_stays_as_it_is():
    flows = [{"results": [{"id": 9, "name": WATCHED_FLOW}]}]
    client = FakeDemoClient({"api/v1/flows/?limit=500": flows})
    assert (show(client).ensure_watched_flow(), client.posted) == (9, [])


def test_the_demo_watches_what_the_lab_lets_mirror_maker_copy():
    assert re.fullmatch(MIRRORED, f"{PREFIX}orders")
    assert not any(re.fullmatch(MIRRORED, topic) for topic in TOPICS)


@pytest.mark.parametrize(
    ("pages", "seen_at"),
    [
        pytest.param([[], [row(0)], [row(12)]], 12, id="a new flow"),
        pytest.param([[], [row(512, log_start_offset=500)]], 512, id="a log that begins later"),
        pytest.param([[row(40)], [row(40)], [row(41)]], 41, id="the flow of the last demo"),
        pytest.param([[row(None)], [row(None)], [row(3)]], 3, id="no position yet"),
    ],
)
def test_a_record_is_seen_when_a_position_has_moved(pages, seen_at):
    assert wait(pages)["position"] == seen_at


def test_a_position_that_does_not_move_is_not_a_replicated_record():
    with pytest.raises(StartFailed, match="the first replicated record did not show up"):
        wait([[row(40)]], timeout_s=0.1)


@pytest.mark.parametrize("name", ["DATABASE_URL", "REDIS_URL"])
@pytest.mark.parametrize("ending", ["", "_FILE"])
def test_the_demos_console_has_a_database_and_a_redis_of_its_own(
    monkeypatch, tmp_path, name, ending
):
    monkeypatch.setenv(name + ending, "of another console")
    assert console_program(tmp_path, 8000).environment[name + ending] == ""


KINDS = [
    {"kind": "isr-churn", "arguments": [{"name": "log", "type": "log", "is_required": True}]},
    {
        "kind": "refine",
        "arguments": [
            {"name": "flow", "type": "flow", "is_required": True},
            {"name": "offsets", "type": "file", "is_required": False},
        ],
    },
    {"kind": "backfill", "arguments": []},
]


def test_each_kind_of_analysis_that_was_never_asked_is_asked_once():
    none, one = [{"results": []}], [{"results": [{}]}]
    client = FakeDemoClient(
        {
            "api/v1/extractors/": [{"results": [{"name": EXTRACTOR}]}],
            "api/v1/runs/kinds/": [KINDS],
            "api/v1/runs/?kind=isr-churn&limit=1": none,
            "api/v1/runs/?kind=refine&limit=1": none,
            "api/v1/runs/?kind=backfill&limit=1": one,
            "api/v1/runs/": [{}],
        }
    )
    assert show(client).ensure_analyses() == 2
    assert [values for _, values in client.posted] == [
        {"kind": "isr-churn", "arguments": {"log": "east"}},
        {"kind": "refine", "arguments": {"flow": FLOW, "group": "shipping"}},
    ]


def test_the_extractor_of_the_order_flow_is_created_once():
    path = "api/v1/extractors/"
    client = FakeDemoClient({path: [{"results": []}, {}, {"results": [{"name": EXTRACTOR}]}]})
    show(client).ensure_extractor()
    show(client).ensure_extractor()
    assert [values["name"] for _, values in client.posted] == [EXTRACTOR]


def test_the_extractor_of_the_order_flow_is_one():
    assert Extractor.from_mapping({"name": EXTRACTOR, **DEFINITION}).has("error")


def test_what_the_demo_asks_of_each_kind_is_a_question_that_it_takes():
    for analysis in QUESTIONS.values():
        also = ALSO.get(analysis.kind, {})
        needed = {
            one.type for one in analysis.arguments if one.is_required and one.name not in also
        }
        assert needed <= {*ABOUT, "moment"}, analysis.kind
        assert also.keys() <= {one.name for one in analysis.arguments}
