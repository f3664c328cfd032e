"""The limit of a wait is machine time, and its failure says what was seen."""

import asyncio

import pytest

from jobs.cluster.errors import NotAuthorized, Unreachable
from tests.waiting import (
    MOST_STRETCHED,
    PATIENCE,
    Deadline,
    MachineTime,
    Stalls,
    eventually,
    eventually_async,
    lasting,
    pause,
    runnable_beside_this,
    stays,
    unchanged,
)


class Machine(MachineTime):
    """A machine of two cores whose sleeps move its clock, each `late_by_s` longer than asked."""

    def __init__(self, runnable: int = 0, late_by_s: float = 0.0) -> None:
        self.now = 0.0
        self.slept: list[float] = []
        self.late_by_s = late_by_s
        super().__init__(
            clock=lambda: self.now, sleep=self.move, runnable=lambda: runnable, cores=2
        )

    def move(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds + self.late_by_s


def failure_of(condition, machine=None) -> str:
    with pytest.raises(AssertionError) as caught:
        eventually(condition, 1, machine=machine or Machine())
    return str(caught.value)


def test_the_first_true_value_is_returned():
    values = iter([0, [], None, "there", "later"])
    assert eventually(lambda: next(values), machine=Machine()) == "there"


def test_a_calm_machine_gives_the_limit_in_wall_time():
    machine = Machine()
    failure_of(lambda: False, machine)
    assert machine.now == pytest.approx(PATIENCE, abs=0.2)
    assert machine.machine_s == pytest.approx(machine.wall_s)


def test_a_machine_with_two_runnable_threads_per_core_gives_twice_the_time():
    machine = Machine(runnable=4)
    failure_of(lambda: False, machine)
    assert machine.now == pytest.approx(2 * PATIENCE, abs=0.2)


def test_a_machine_with_a_free_core_stretches_nothing():
    machine = Machine(runnable=1)
    failure_of(lambda: False, machine)
    assert machine.now == pytest.approx(PATIENCE, abs=0.2)


def test_what_is_overslept_does_not_count():
    machine = Machine(late_by_s=0.1)
    failure_of(lambda: False, machine)
    assert machine.machine_s == pytest.approx(PATIENCE, abs=0.2)
    assert machine.late_s == pytest.approx(0.1 * len(machine.slept))
    assert machine.now == pytest.approx(machine.machine_s + machine.late_s)


def test_a_sleep_that_is_hardly_late_counts_whole():
    machine = Machine(late_by_s=0.01)
    machine.sleep(1)
    assert (machine.machine_s, machine.late_s) == (pytest.approx(1.01), 0)


def test_no_limit_is_stretched_for_ever():
    machine = Machine(runnable=2000)
    failure_of(lambda: False, machine)
    assert machine.now == pytest.approx(MOST_STRETCHED * PATIENCE, abs=0.2)


def test_what_is_dear_to_look_at_is_looked_at_more_seldom():
    machine = Machine()
    costs = iter([0.0, 0.1, 5.0])

    def looked() -> bool:
        cost = next(costs, None)
        machine.now += cost or 0
        return cost is None

    eventually(looked, 100, machine=machine)
    assert machine.slept == [0.05, pytest.approx(0.4), pytest.approx(6.0)]


def test_a_cluster_that_cannot_be_asked_is_asked_again():
    faults = [Unreachable("away", cluster="east"), Unreachable("away", cluster="east")]

    def ask() -> str:
        if faults:
            raise faults.pop()
        return "answer"

    assert eventually(ask, machine=Machine()) == "answer"


def test_a_fault_that_stays_is_named():
    def ask() -> bool:
        raise Unreachable("no listener", cluster="east")

    told = failure_of(ask)
    assert "last fault: Unreachable: " in told
    assert "no listener" in told


@pytest.mark.parametrize("error", [NotAuthorized("no right", cluster="east"), ValueError("wrong")])
def test_other_faults_are_raised_at_once(error):
    def ask() -> bool:
        raise error

    with pytest.raises(type(error)):
        eventually(ask, machine=Machine())


def test_a_failure_says_how_long_it_was_in_wall_and_machine_time():
    assert "not true within 6.0 s (3.0 s of machine time); the limit is 3 s" in failure_of(
        lambda: False, Machine(runnable=4)
    )


def test_a_failure_shows_the_operands_of_a_comparison():
    found, wanted = [1, 2], 5
    told = failure_of(lambda: len(found) * 2 >= wanted)
    assert "condition: len(found) * 2 >= wanted" in told
    assert "  len(found) * 2 = 4" in told
    assert "  wanted = 5" in told
    assert "last value: False" in told


def test_a_failure_shows_the_parts_of_and_or_and_not():
    is_up, names = True, {"é": 1}
    told = failure_of(lambda: is_up and (not names or "ü" in names))
    assert "  is_up = True" in told
    assert "  not names = False" in told
    assert "  names = {'é': 1}" in told


def test_a_failure_shows_each_value_that_all_of_which_are_wanted():
    rows = [1, 2, 3]
    told = failure_of(lambda: all(row > 1 for row in rows))
    assert "  [row > 1 for row in rows] = [False, True, True]" in told


def test_a_failure_shows_what_a_call_was_given_and_what_it_returned():
    def is_in(broker: int, isr: list[int]) -> str:
        return "" if broker not in isr else "yes"

    broker, isr = 4, [1, 2]
    told = failure_of(lambda: is_in(broker, isr))
    assert "  isr = [1, 2]" in told
    assert "last value: ''" in told


def test_a_failure_knows_the_defaults_of_a_lambda():
    assert "  n = 7" in failure_of(lambda n=7: n == 8)


def test_a_failure_shows_a_condition_of_several_lines():
    first, second = 1, 2
    told = failure_of(
        lambda: (
            first == 2  # never
            and second == 2
        )
    )
    assert "condition: first == 2 and second == 2" in told
    assert "  first = 1" in told


def test_a_part_that_cannot_be_asked_is_shown_with_its_fault():
    rows: dict[str, int] = {}
    assert "  rows['a'] = KeyError: 'a'" in failure_of(lambda: "a" in rows and rows["a"] == 1)


def test_a_long_value_is_cut():
    text = "x" * 10_000
    assert len(failure_of(lambda: text == "y")) < 1_000


def test_a_condition_with_a_name_is_called_by_it():
    def is_ready() -> int:
        return 0

    told = failure_of(is_ready)
    assert "is_ready" in told
    assert "last value: 0" in told


def test_a_loop_that_waits_goes_on_with_its_other_work():
    async def go() -> list[str]:
        done: list[str] = []

        async def other() -> None:
            done.append("other")

        async def is_done() -> list[str]:
            return done

        beside = asyncio.ensure_future(other())
        found = await eventually_async(is_done, every=0.001)
        await beside
        return found

    assert asyncio.run(go()) == ["other"]


def test_a_deadline_fails_with_what_did_not_happen():
    machine = Machine()
    deadline = Deadline(2, machine)
    deadline.check("not yet")
    machine.move(2 * PATIENCE + 1)
    with pytest.raises(AssertionError, match=r"3 of 5 records came, in 7\.0 s"):
        deadline.check("3 of 5 records came")


def test_what_stays_true_is_looked_at_for_the_whole_time():
    machine, looks = Machine(), []
    stays(lambda: looks.append(machine.now) or True, 15, machine=machine)
    assert len(looks) > 100
    assert looks[-1] == pytest.approx(15)


def test_what_changes_for_a_moment_did_not_stay():
    machine = Machine()
    with pytest.raises(AssertionError) as caught:
        stays(lambda: not 3.05 < machine.now < 3.2, 15, machine=machine)
    assert "no longer true after 3.1 s of 15 s" in str(caught.value)


def test_a_cluster_that_cannot_be_asked_must_answer_in_the_end():
    machine = Machine()

    def ask() -> bool:
        if machine.now > 1:
            raise Unreachable("away", cluster="east")
        return True

    with pytest.raises(AssertionError, match="away"):
        stays(ask, 2, machine=machine)


def test_a_value_is_returned_when_it_has_been_the_same_for_long_enough():
    machine = Machine()
    assert unchanged(lambda: min(5, int(machine.now)), 3, machine=machine) == 5
    assert machine.now == pytest.approx(8, abs=0.1)


def test_a_value_that_goes_on_changing_is_a_failure():
    machine = Machine()
    with pytest.raises(AssertionError, match="is_unchanged"):
        unchanged(lambda: machine.now, 3, machine=machine)


def test_what_is_done_again_and_again_ends_with_its_time():
    machine = Machine()
    for left_s in lasting(2, machine):
        assert left_s == pytest.approx(2 - machine.now)
        machine.move(0.5)
    assert machine.now == 2


def test_a_cluster_that_cannot_be_asked_is_asked_again_however_long_the_time_was():
    machine = Machine()

    def ask() -> bool:
        if 99.95 < machine.now < 102:
            raise Unreachable("away", cluster="east")
        return True

    stays(ask, 100, machine=machine)
    assert machine.now >= 102


def test_a_pause_needs_a_reason():
    with pytest.raises(AssertionError):
        pause(0, "")


def test_the_runnable_threads_of_this_machine_are_counted():
    assert runnable_beside_this() >= 0


def test_a_block_without_stalls_took_the_time_that_went_by():
    with Stalls() as stalls:
        pause(0.1, "to be measured")
    assert stalls.wall_s >= 0.1
    assert stalls.took_s == pytest.approx(stalls.wall_s - stalls.seconds)
    assert stalls.wall_s == stalls.wall_s  # it has ended


def test_the_time_in_which_this_process_was_not_run_is_left_out():
    now = [0.0]
    with Stalls(lambda: now[0]) as stalls:
        now[0] = 5.0
    now[0] = 9.0
    assert stalls.wall_s == 5
    assert stalls.took_s == pytest.approx(0.05)
