"""The clock: which tasks it starts, and the task that queues rounds of several kinds."""

from datetime import datetime

import pytest

from console.celery import app
from console.frame.rounds import KINDS, Kind
from console.frame.tasks import FILE_PRUNES, PRUNES, ROLL_UPS, prune, queue_rounds, roll_up

app.loader.import_default_modules()
ROUNDS = [one for one in app.conf.beat_schedule.values() if one["task"] == queue_rounds.name]


def test_a_kind_of_round_that_breaks_costs_the_others_nothing(monkeypatch, caplog):
    queued = []

    monkeypatch.setitem(KINDS, "broken", Kind(break_down, bool))
    monkeypatch.setitem(KINDS, "other", Kind(lambda _: queued.append("other") or [], bool))
    queue_rounds("broken", "other")
    assert queued == ["other"]
    assert "kind=broken" in caplog.text


def break_down(_: datetime) -> None:
    raise ValueError("no room left")


@pytest.mark.django_db
def test_a_roll_up_that_breaks_costs_the_others_nothing(monkeypatch, caplog):
    ran = []
    monkeypatch.setitem(ROLL_UPS, "test broken", break_down)
    monkeypatch.setitem(ROLL_UPS, "test other", ran.append)
    roll_up()
    assert len(ran) == 1
    broken = [one for one in caplog.messages if one.startswith("roll-up broke")]
    assert broken == ["roll-up broke name=test broken"]


@pytest.mark.django_db
@pytest.mark.parametrize("work", [PRUNES, FILE_PRUNES])
def test_each_history_is_pruned_by_a_task_that_may_break_by_itself(monkeypatch, caplog, work):
    ran = []
    monkeypatch.setitem(app.conf, "task_always_eager", True)
    monkeypatch.setitem(work, "test broken", break_down)
    monkeypatch.setitem(work, "test other", ran.append)
    prune()
    assert len(ran) == 1
    assert len([one for one in caplog.messages if "ValueError" in one]) == 1


def test_every_room_with_a_history_removes_what_is_old():
    assert set(ROLL_UPS) == {"counts of partitions", "checkpoints", "lag"}
    assert set(PRUNES) == {
        "sessions", "idempotency keys", "streams", "history of partitions", "promotions",
        "deliveries", "findings", "incidents", "objectives", "readiness of flows", "checkpoints", "lag",
        "engines",
    }  # fmt: skip
    assert set(FILE_PRUNES) == {"reports", "runs", "uploads"}


def test_the_clock_starts_only_tasks_that_there_are():
    wanted = {one["task"] for one in app.conf.beat_schedule.values()}
    assert wanted - set(app.tasks) == set()


def test_every_kind_of_rounds_is_queued_by_one_entry_of_its_queue():
    queued = [(name, one["options"]["queue"]) for one in ROUNDS for name in one["args"]]
    assert sorted(queued) == sorted((name, kind.queue) for name, kind in KINDS.items())
