"""The program that promotes: a loop and a worker for each cluster that needs them, whatever goes away."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import OperationalError

from console.availability.acting.models import HeldPromotion, StandbyLease
from console.availability.acting.promoter import (
    Promoter,
    PromoterDependencies,
    PromotionCycle,
    wanted_clusters,
)
from console.availability.advice.models import PromotionRound
from console.availability.drills.models import Drill, DrillState
from console.availability.drills.work import carry_out_drills
from console.availability.promotion.models import ActionState, Mode, PromotionAction
from console.availability.promotion.page_context import shown_loops
from console.availability.promotion.queries import is_promoter_running
from console.frame.processes.threads import REST_S, ThreadDependencies
from jobs.availability.drills import DrillMeasure, shape_of
from jobs.availability.promotion.actors.kinds import ActorKind
from jobs.availability.what_if.model.cluster import BrokerModel, ClusterModel
from jobs.cluster.errors import Unreachable
from tests.console.availability.promotion_world import (
    STANDBY,
    Clock,
    PaperDoor,
    make_action,
    make_policy,
    make_short,
)
from tests.console.making import make_cluster

pytestmark = pytest.mark.django_db


class Started(list):
    """Starts threads that do nothing until they are run by hand."""

    def __call__(self, run, label):
        self.append(Idle(run, label))
        return self[-1]

    def end(self):
        """Let every thread end as one whose work is over."""
        for thread in self:
            thread.is_over = True


class Idle:
    def __init__(self, run, label):
        self.run, self.label = run, label
        self.is_over = False

    def is_alive(self):
        return not self.is_over

    def join(self, timeout=None):
        self.is_over = True


class PaperDrills:
    """Drills that only record requests."""

    def __init__(self):
        self.tried, self.removed = [], []
        self.fault = None
        self.meanwhile = lambda: None

    def drill(self, connection, store, topic, shape, heard):
        self.tried.append((topic, shape.kind, shape.replicas, shape.broker))
        heard("It was tried.")
        self.meanwhile()
        return DrillMeasure(shape.kind, is_good=True, sentence="well", promote_ms=400, revert_ms=30)

    def remove(self, connection, topics):
        if self.fault is not None:
            raise self.fault
        self.removed += topics


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def ways(clock):
    return PromoterDependencies(
        door=PaperDoor(clock),
        drills=PaperDrills(),
        keep=lambda cluster, loop_id, stop: None,
        clock=clock,
        threads=ThreadDependencies(lambda: clock.ms / 1000, Started(), lambda: None),
    )


@pytest.mark.parametrize(
    "need",
    [
        pytest.param(make_policy, id="a policy"),
        pytest.param(make_action, id="advice"),
        pytest.param(
            lambda c: HeldPromotion.objects.create(cluster=c, promotion_id="p", broker=4), id="held"
        ),
        pytest.param(lambda c: Drill.objects.create(cluster=c, created_at=Clock()()), id="a drill"),
    ],
)
def test_a_cluster_with_something_to_do_is_looked_after(need):
    cluster = make_short()
    make_cluster("west")
    assert wanted_clusters() == {}
    need(cluster)
    assert list(wanted_clusters()) == [cluster.pk]


def test_each_cluster_has_a_loop_a_worker_and_drills(ways):
    cluster = make_short()
    make_policy(cluster)
    promoter = Promoter("here:1", ways)
    promoter.look()
    promoter.look()
    assert [one.label for one in ways.threads.start] == [
        f"promoter {what} of cluster {cluster.pk}"
        for what in ("standby brokers", "promotions", "drills")
    ]
    assert is_promoter_running(cluster, ways.clock())


def loops_of(cluster, clock):
    return [(one["name"], one["is_alive"]) for one in shown_loops(cluster, clock())]


def test_a_promoter_with_nothing_to_do_says_that_it_runs(ways, clock):
    cluster, off = make_cluster("west"), make_cluster("off", is_enabled=False)
    for name in ("here:1", "there:1"):
        Promoter(name, ways).look()
    assert is_promoter_running(cluster, clock())
    assert loops_of(cluster, clock) == [("here:1", True), ("there:1", True)]
    assert not is_promoter_running(off, clock())


def test_a_promoter_that_becomes_idle_is_never_silent(ways, clock):
    cluster = make_short()
    policy = make_policy(cluster)
    promoter = Promoter("here:1", ways)
    promoter.look()
    policy.delete()
    for _ in range(20):
        clock.go(2)
        promoter.look()
        ways.threads.start.end()
        assert is_promoter_running(cluster, clock())
    assert loops_of(cluster, clock) == [("here:1", True)]


def test_a_promoter_that_was_stopped_is_neither_running_nor_silent(ways, clock):
    cluster = make_cluster("west")
    promoter = Promoter("here:1", ways)
    promoter.look()
    promoter.end()
    assert not is_promoter_running(cluster, clock())
    assert loops_of(cluster, clock) == []


def test_a_promoter_with_a_thread_that_does_not_end_keeps_its_heartbeat(ways, clock):
    cluster = make_short()
    make_policy(cluster)
    promoter = Promoter("here:1", ways)
    promoter.look()
    ways.threads.start[0].join = lambda timeout: None
    assert not promoter.end()
    assert is_promoter_running(cluster, clock())


def breaking(ways, error):
    def keep(cluster, loop_id, stop):
        raise error

    return replace(ways, keep=keep)


def keep_breaks(promoter, ways):
    """Look, and let the thread that keeps standby brokers run into its error."""
    promoter.look()
    keeping = ways.threads.start[-3]
    keeping.run()
    keeping.is_over = True


def test_a_thread_that_broke_is_started_again_after_a_rest(ways, clock):
    make_policy(make_short())
    promoter = Promoter("here:1", breaking(ways, RuntimeError("broke")))
    keep_breaks(promoter, ways)
    promoter.look()
    assert len(ways.threads.start) == 3
    clock.go(REST_S + 1)
    promoter.look()
    assert [one.label for one in ways.threads.start[3:]] == [ways.threads.start[0].label]


def test_the_heartbeat_says_which_thread_broke_and_why(ways):
    cluster = make_short()
    make_policy(cluster)
    promoter = Promoter("here:1", breaking(ways, RuntimeError("no route to host")))
    keep_breaks(promoter, ways)
    promoter.look()
    problem = PromotionRound.objects.get(cluster=cluster).promoter_problem
    assert problem == f"standby brokers of cluster {cluster.pk}: no route to host"


def test_other_connection_settings_end_the_threads_and_begin_new_ones(ways):
    cluster = make_short()
    make_policy(cluster)
    promoter = Promoter("here:1", ways)
    promoter.look()
    type(cluster).objects.update(bootstrap_servers="other:9092")
    promoter.look()
    assert len(ways.threads.start) == 3
    ways.threads.start.end()
    promoter.look()
    assert len(ways.threads.start) == 6


def test_a_cluster_without_anything_to_do_is_let_go(ways):
    cluster = make_short()
    policy = make_policy(cluster)
    promoter = Promoter("here:1", ways)
    promoter.look()
    policy.delete()
    promoter.look()
    promoter.end()
    promoter.look()
    assert promoter._kept == {}


def test_a_database_that_is_away_ends_nothing(ways):
    import threading

    stop, asked = threading.Event(), []

    def gone():
        asked.append(1)
        if len(asked) > 1:
            stop.set()
        raise OperationalError("server closed the connection")

    away = PromoterDependencies(threads=replace(ways.threads, renew=gone))
    stop.wait = lambda timeout=None: stop.is_set()
    Promoter("here:1", away).run(stop)
    assert len(asked) == 2


def test_of_two_programs_one_acts(ways, clock):
    cluster = make_short()
    make_policy(cluster, mode=Mode.ACT)
    one, two = (PromotionCycle(cluster, name, ways) for name in ("a:1", "b:1"))
    assert one.tick() == 1
    assert two.tick() == 0
    assert ways.door.acts == ["act"]
    assert StandbyLease.objects.get().holder == "a:1"


def test_the_other_one_decides_when_the_first_is_gone(ways, clock):
    cluster = make_short()
    make_policy(cluster, mode=Mode.ACT)
    one, two = (PromotionCycle(cluster, name, ways) for name in ("a:1", "b:1"))
    one.tick()
    clock.go(7)
    ways.door.isr, ways.door.alive = (1, 2, STANDBY), frozenset({1, 2, STANDBY})
    two.tick()
    clock.go(6)
    two.tick()
    assert PromotionAction.objects.get().state == ActionState.REVERTED
    assert ways.door.acts == ["act", "revert"]


def test_where_nobody_acts_and_nothing_stands_the_cluster_is_left_alone(ways):
    cluster = make_short()
    make_policy(cluster)
    PromotionCycle(cluster, "a:1", ways).tick()
    assert ways.door.asked == []


def drilled(cluster, ways, **fields):
    values = {
        "actors": [kind.value for kind in (ActorKind.FENCED_STANDBY, ActorKind.RELAX_MIN_ISR)]
    }
    row = Drill.objects.create(
        cluster=cluster, topic="crosslog-drill-1", created_at=ways.clock(), **values | fields
    )
    carry_out_drills(cluster, "a:1", ways.clock, ways.drills)
    row.refresh_from_db()
    return row


def test_a_drill_tries_each_way_on_a_topic_of_its_own(ways):
    cluster = make_short()
    make_policy(cluster)
    row = drilled(cluster, ways)
    assert (row.state, row.good_count) == (DrillState.SUCCEEDED, 2)
    assert ways.drills.tried == [
        ("crosslog-drill-1-fenced-standby", ActorKind.FENCED_STANDBY, (1, STANDBY), STANDBY),
        ("crosslog-drill-1-relax-min-isr", ActorKind.RELAX_MIN_ISR, (1, STANDBY), STANDBY),
    ]
    assert [one.promote_ms for one in row.results.all()] == [400, 400]


def test_a_drill_is_carried_out_once(ways):
    cluster = make_short()
    make_policy(cluster)
    drilled(cluster, ways)
    assert carry_out_drills(cluster, "b:1", ways.clock, ways.drills) == 0
    assert len(ways.drills.tried) == 2


def test_a_drill_that_another_program_has_taken_over_is_left_to_it(ways):
    cluster = make_short()
    make_policy(cluster)
    later = ways.clock() + timedelta(hours=1)
    ways.drills.meanwhile = lambda: Drill.objects.update(claimed_until=later)
    row = drilled(cluster, ways)
    assert (len(ways.drills.tried), row.state, row.error) == (1, DrillState.RUNNING, "")


def test_a_drill_whose_program_died_removes_its_topics_and_goes_on(ways, clock):
    cluster = make_short()
    make_policy(cluster)
    row = drilled(
        cluster, ways, state=DrillState.RUNNING, log=[["2026-01-01T00:00:00+00:00", "begun"]]
    )
    assert ways.drills.removed == [
        "crosslog-drill-1-fenced-standby",
        "crosslog-drill-1-relax-min-isr",
    ]
    assert row.state == DrillState.SUCCEEDED


def test_what_cannot_be_drilled_here_says_why(ways):
    cluster = make_short()
    row = drilled(cluster, ways)
    assert row.state == DrillState.FAILED
    assert "fenced standby broker" in row.results.first().message


def test_a_drill_is_refused_while_crosslog_is_read_only(ways, settings):
    settings.CROSSLOG_READ_ONLY = True
    row = drilled(make_short(), ways)
    assert (row.state, ways.drills.tried) == (DrillState.REFUSED, [])


def test_a_cluster_that_does_not_answer_fails_the_drill_and_says_that_topics_may_be_left(ways):
    cluster = make_short()
    ways.drills.fault = Unreachable("no broker answered", cluster="east")
    row = drilled(cluster, ways, log=[["2026-01-01T00:00:00+00:00", "begun"]])
    assert (row.state, row.topic_removed_at) == (DrillState.FAILED, None)
    assert "no broker answered" in row.error


BROKERS = {b: BrokerModel(b, f"dc-{b}") for b in (1, 2, 3, 4)}


@pytest.mark.parametrize(
    ("kind", "standbys", "broker", "replicas", "chosen"),
    [
        pytest.param(ActorKind.FENCED_STANDBY, {4}, None, (1, 2, 4), 4, id="standby"),
        pytest.param(ActorKind.FENCED_STANDBY, {3, 4}, 4, (1, 2, 4), 4, id="the one that is given"),
        pytest.param(ActorKind.RELAX_MIN_ISR, {4}, None, (1, 4), 4, id="relaxed"),
        pytest.param(ActorKind.REASSIGN_TO_SPARE, {4}, None, (1,), 3, id="spare"),
        pytest.param(ActorKind.FENCED_STANDBY, set(), None, (), None, id="no standby"),
        pytest.param(ActorKind.HELD_BACK_REPLICA, {4}, None, (), None, id="nothing to hold back"),
    ],
)
def test_the_topic_of_a_drill(kind, standbys, broker, replicas, chosen):
    shape = shape_of(kind, ClusterModel(BROKERS, ()), standbys, broker)
    assert (shape.replicas, shape.broker) == (replicas, chosen)
    assert bool(shape.why_not) is not bool(replicas)
