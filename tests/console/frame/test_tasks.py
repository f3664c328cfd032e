"""The clock: which tasks it starts, and the task that queues rounds of several kinds."""

from datetime import datetime

from console.celery import app
from console.frame.rounds import KINDS, Kind
from console.frame.tasks import queue_rounds

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


def test_the_clock_starts_only_tasks_that_there_are():
    wanted = {one["task"] for one in app.conf.beat_schedule.values()}
    assert wanted - set(app.tasks) == set()


def test_every_kind_of_rounds_is_queued_by_one_entry_of_its_queue():
    queued = [(name, one["options"]["queue"]) for one in ROUNDS for name in one["args"]]
    assert sorted(queued) == sorted((name, kind.queue) for name, kind in KINDS.items())
