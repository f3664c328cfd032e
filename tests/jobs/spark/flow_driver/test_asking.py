"""Questions beside the driver's loop."""

import threading

from jobs.spark.flow_driver.asking import Asking
from tests.support import wait_until


def answer_of(asking: Asking):
    found = []
    wait_until(lambda: found or found.extend(filter(None, [asking.take()])) or found)
    return found[0]


def test_an_answer_is_taken_when_it_is_there():
    asking, gate = Asking(), threading.Event()
    asking.ask("survey", lambda: gate.wait(10) and 42)
    assert (asking.take(), asking.is_busy) == (None, True)
    gate.set()
    answer = answer_of(asking)
    assert (answer.name, answer.value, asking.is_busy) == ("survey", 42, False)


def test_what_a_question_raises_is_its_answer():
    asking = Asking()
    asking.ask("survey", lambda: 1 / 0)
    assert isinstance(answer_of(asking).error, ZeroDivisionError)
