"""The clock, and one task that looks for several who is due."""

import pytest

from console.celery import COLLECT, app
from console.frame.tasks import PRUNES, ROLL_UPS, look, prune, roll_up

app.loader.import_default_modules()
LOOKS = [one for one in app.conf.beat_schedule.values() if one["task"] == look.name]


def test_a_look_that_breaks_costs_the_others_nothing(monkeypatch, caplog):
    ran = []

    def break_down() -> None:
        raise ValueError("no room left")

    monkeypatch.setitem(app.tasks, "test.one", lambda: ran.append("one"))
    monkeypatch.setitem(app.tasks, "test.broken", break_down)
    monkeypatch.setitem(app.tasks, "test.other", lambda: ran.append("other"))
    look("test.one", "test.broken", "test.other")
    assert ran == ["one", "other"]
    assert "test.broken broke" in caplog.text


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
        "findings of quorums", "findings of flows", "readiness of flows", "checkpoints", "lag",
        "reports", "runs", "uploads",
    }  # fmt: skip


def test_the_clock_starts_only_tasks_that_there_are():
    wanted = {one["task"] for one in app.conf.beat_schedule.values()}
    wanted |= {name for one in LOOKS for name in one["args"]}
    assert wanted - set(app.tasks) == set()


@pytest.mark.parametrize("entry", LOOKS, ids=lambda one: one["options"]["queue"])
def test_what_looks_together_is_of_one_queue(entry):
    queues = {app.amqp.router.route({}, name)["queue"].name for name in entry["args"]}
    assert queues == {entry["options"]["queue"]}


def test_looks_are_of_the_queues_that_send_tickets():
    assert [one["options"]["queue"] for one in LOOKS] == [COLLECT, "flows"]
