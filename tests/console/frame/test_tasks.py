"""The clock, and one task that looks for several who is due."""

import pytest

from console.celery import COLLECT, app
from console.frame.rounds import KINDS
from console.frame.tasks import look, queue_rounds

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


def test_each_kind_of_rounds_of_the_clock_is_declared_for_the_queue_of_its_entry():
    entries = [one for one in app.conf.beat_schedule.values() if one["task"] == queue_rounds.name]
    found = {name: KINDS[name].queue for one in entries for name in one["args"]}
    wanted = {name: one["options"]["queue"] for one in entries for name in one["args"]}
    assert found == wanted
    assert {"failover-plans", "failover-runs"} <= found.keys()
