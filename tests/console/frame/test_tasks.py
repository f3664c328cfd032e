"""The clock: which tasks it starts, and the task that queues rounds of several kinds."""

from datetime import datetime

import pytest

from console.celery import app
from console.frame.rounds import KINDS, Kind
from console.frame.tasks import PRUNES, ROLL_UPS, prune, queue_rounds, roll_up

app.loader.import_default_modules()
ROUNDS = [one for one in app.conf.beat_schedule.values() if one["task"] == queue_rounds.name]


def test_a_kind_of_round_that_breaks_costs_the_others_nothing(monkeypatch, caplog):
    queued = []

    def break_down(_: datetime) -> list[int]:
        raise ValueError("no room left")

    monkeypatch.setitem(KINDS, "broken", Kind(break_down, bool))
    monkeypatch.setitem(KINDS, "other", Kind(lambda _: queued.append("other") or [], bool))
    queue_rounds("broken", "other")
    assert queued == ["other"]
    assert "kind=broken" in caplog.text


@pytest.mark.django_db
@pytest.mark.parametrize(("work", "task"), [(ROLL_UPS, roll_up), (PRUNES, prune)])
def test_upkeep_that_breaks_costs_the_others_nothing(monkeypatch, caplog, work, task):
    ran = []

    def break_down(_) -> None:
        raise ValueError("no room left")

    monkeypatch.setitem(work, "test broken", break_down)
    monkeypatch.setitem(work, "test other", ran.append)
    task()
    assert len(ran) == 1
    broken = [one for one in caplog.messages if one.startswith("upkeep broke")]
    assert broken == ["upkeep broke name=test broken"]


def test_every_room_with_a_history_removes_what_is_old():
    assert set(ROLL_UPS) == {"counts of partitions", "checkpoints", "lag"}
    assert set(PRUNES) == {
        "sessions", "idempotency keys", "streams", "history of partitions", "promotions",
        "findings", "readiness of flows", "checkpoints", "lag",
        "reports", "runs", "uploads",
    }  # fmt: skip


def test_the_clock_starts_only_tasks_that_there_are():
    wanted = {one["task"] for one in app.conf.beat_schedule.values()}
    assert wanted - set(app.tasks) == set()


def test_every_kind_of_rounds_is_queued_by_one_entry_of_its_queue():
    queued = [(name, one["options"]["queue"]) for one in ROUNDS for name in one["args"]]
    assert sorted(queued) == sorted((name, kind.queue) for name, kind in KINDS.items())
