"""Fair scheduling: the longest overdue row is next, also when there is more work than workers."""

from console.frame.processes.work_sharing import SHARE_S, TICKETS, enqueue_tickets, work_through_due


class Sent:
    """A queue that counts what it gets."""

    def __init__(self):
        self.tickets = 0

    def apply_async(self, *, expires):
        assert expires > 0
        self.tickets += 1


class Waiting:
    """Clusters that wait; each takes the worker so many seconds."""

    def __init__(self, *names, each_s=0.0):
        self.names, self.each_s = list(names), each_s
        self.now, self.taken = 0.0, []

    def take(self, name):
        self.names.remove(name)
        self.taken.append(name)
        self.now += self.each_s
        return True

    def turns(self):
        return work_through_due(lambda: list(self.names), self.take, lambda: self.now)


def test_one_ticket_is_handed_out_for_each_that_is_due():
    queue = Sent()
    enqueue_tickets(queue, [7, 8, 9])
    assert queue.tickets == 3


def test_a_queue_never_gets_more_tickets_than_workers_could_use():
    queue = Sent()
    enqueue_tickets(queue, range(500))
    assert queue.tickets == TICKETS


def test_a_ticket_serves_everybody_who_is_due_in_their_order():
    waiting = Waiting(3, 1, 2)
    assert waiting.turns() == 3
    assert waiting.taken == [3, 1, 2]


def test_a_ticket_gives_way_to_other_work_when_its_share_is_used_up():
    waiting = Waiting(*range(100), each_s=SHARE_S / 2)
    assert waiting.turns() == 2
    assert waiting.taken == [0, 1]


def test_what_another_worker_has_is_passed_over():
    taken = []

    def take(name):
        if name == 1 or name in taken:
            return False
        taken.append(name)
        return True

    assert work_through_due(lambda: [1, 2, 3], take, lambda: 0.0) == 2
    assert taken == [2, 3]


def test_nobody_due_costs_one_look():
    looks = []
    assert work_through_due(lambda: looks.append(1) or [], lambda name: True) == 0
    assert looks == [1]
