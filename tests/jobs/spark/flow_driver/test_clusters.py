"""Questions beside the driver's loop."""

import threading

from jobs.spark.flow_driver.clusters import BackgroundCall
from tests.waiting import eventually


def answer_of(asking: BackgroundCall):
    found = []
    eventually(lambda: found or found.extend(filter(None, [asking.result()])) or found)
    return found[0]


def test_an_answer_is_taken_when_it_is_there():
    asking, gate = BackgroundCall("orders"), threading.Event()
    asking.start("survey", lambda: gate.wait(10) and 42)
    assert (asking.result(), asking.is_busy) == (None, True)
    gate.set()
    answer = answer_of(asking)
    assert (answer.name, answer.value, asking.is_busy) == ("survey", 42, False)


def test_a_question_is_asked_in_a_thread_of_its_flow():
    asking = BackgroundCall("orders")
    asking.start("survey", lambda: threading.current_thread().name)
    assert answer_of(asking).value == "orders: survey"


def test_what_a_question_raises_is_its_answer():
    asking = BackgroundCall("orders")
    asking.start("survey", lambda: 1 / 0)
    assert isinstance(answer_of(asking).error, ZeroDivisionError)
