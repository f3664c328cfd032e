"""What collections keep of real rebalances, beside what the instances themselves ran before and after."""

import uuid
from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone

from console.clusters import actions
from console.streams.collection.collect import collect_applications
from console.streams.models import StreamsApplication, StreamsRound
from jobs.cluster.check import check_connection
from jobs.lab.streams.application import CLASSIC, STREAMS
from jobs.lab.streams.settled import Inside, is_settled, tasks
from jobs.limits import SNAPSHOT_EVERY_S
from jobs.streams.application import Role
from jobs.streams.rebalances.changes import Change, Reason
from tests.live.streams.applications import wait_until_settled
from tests.waiting import eventually

pytestmark = [pytest.mark.timeout(900), pytest.mark.django_db]

WITHIN_S = 60
# Kinds of rebalances which no step of these tests is.
NEVER = {
    Reason.FIRST_MEMBERS,
    Reason.SHUTDOWN,
    Reason.VERSION,
    Reason.TOPOLOGY,
    Reason.PARTITIONS,
    Reason.UNKNOWN,
}
ROLES = {Role.ACTIVE: "active", Role.STANDBY: "standby"}
Moves = set[tuple[str, Role, str | None, str | None]]


class Watched:
    """A real application, and the console that collects it: the rounds of a step are of one minute."""

    def __init__(self, cluster, application) -> None:
        self.application = application
        self._minute = timezone.now().replace(second=0, microsecond=0)
        self._looks = 0
        alias = uuid.uuid4().hex[:8]
        values = {"alias": alias, "bootstrap_servers": cluster.bootstrap_servers}
        check = partial(check_connection, timeout_s=60)
        self._cluster = actions.create_cluster(values, timezone.now(), check=check)

    def begin(self) -> Inside:
        """Begin a step; returns what the instances run until then."""
        self._minute += timedelta(seconds=SNAPSHOT_EVERY_S)
        self._looks = 0
        return self.application.inside()

    def look(self) -> Change | None:
        """Run a round; returns the change that it kept in this minute."""
        self._looks = min(self._looks + 1, SNAPSHOT_EVERY_S - 1)
        now = self._minute + timedelta(seconds=self._looks)
        StreamsRound.objects.update(claimed_until=None)
        assert collect_applications(self._cluster.pk, lambda: now)
        name = self.application.settings.application_id
        row = StreamsApplication.objects.get(application_id=name)
        newest = row.snapshots.order_by("-pk").first()
        is_mine = newest is not None and newest.taken_at >= self._minute
        return Change.from_json(newest.change) if is_mine else None

    def change(self, before: Inside) -> Change:
        """Run rounds until the last one kept what the instances tell, and these are at rest."""
        standbys = 0 if self._alive < 2 else self.application.settings.standbys
        found: list[Change] = []

        def is_kept() -> bool:
            if not is_settled(self.application, standbys):
                self.look()
                return False
            change, inside = self.look(), self.application.inside()
            found[:] = [change] if change is not None else []
            return change is not None and moves_of(change) == self._moved(before, inside)

        eventually(is_kept, WITHIN_S, every=0.5)
        (change,) = found
        assert change.move_count == len(change.moves)
        assert not change.is_gap
        assert not change.is_partial
        assert not NEVER & set(change.reasons)
        return change

    @property
    def _alive(self) -> int:
        return sum(one.pid is not None for one in self.application.instances.values())

    def _moved(self, before: Inside, after: Inside) -> Moves:
        """Return the moves by what the instances run: each task has one active and at most one standby."""
        found: Moves = set()
        for role, kind in ROLES.items():
            old, new = self._holders(before, kind), self._holders(after, kind)
            for task in old.keys() | new.keys():
                if old.get(task) != new.get(task):
                    found.add((task, role, old.get(task), new.get(task)))
        return found

    def _holders(self, inside: Inside, kind: str) -> dict[str, str]:
        return {
            task: self.application.instances[name].endpoint
            for name, one in inside.items()
            for task in tasks(one, kind)
        }


def moves_of(change: Change) -> Moves:
    return {
        (one.task, one.role, one.source and one.source.place, one.target and one.target.place)
        for one in change.moves
    }


def places(found) -> list[str]:
    return [one.place for one in found]


@pytest.fixture(params=[CLASSIC, STREAMS])
def watched(request, streams_cluster, start_application):
    """`R1` and `R2`, settled and seen once."""
    name = f"moving-{uuid.uuid4().hex[:8]}"
    application = start_application(name, protocol=request.param)
    application.start("R1", "h1.example:7131")
    application.start("R2", "h2.example:7132")
    wait_until_settled(application)
    one = Watched(streams_cluster, application)
    first = eventually(one.look, WITHIN_S)
    assert first.reasons == (Reason.FIRST_SEEN,)
    assert sorted(places(first.instances)) == ["h1.example:7131", "h2.example:7132"]
    yield one
    application.kill()


def test_an_instance_that_joins_and_one_that_is_killed_are_kept_with_the_moves_of_the_tasks(
    watched,
):
    before = watched.begin()
    watched.application.start("R3", "h3.example:7133")
    change = watched.change(before)
    assert Reason.JOINED in change.reasons
    assert Reason.LEFT not in change.reasons
    assert [places(change.joined), change.left, change.restarted] == [["h3.example:7133"], (), ()]
    assert change.move_count
    before = watched.begin()
    watched.application.instances["R1"].kill()
    change = watched.change(before)
    assert Reason.LEFT in change.reasons
    assert Reason.JOINED not in change.reasons
    assert [change.joined, places(change.left), change.restarted] == [(), ["h1.example:7131"], ()]
    assert change.stopped_tasks >= len(tasks(before["R1"], "active")) > 0
    assert change.unavailable_ms is not None
    assert change.waiting_since_ms is None


def test_an_instance_that_restarts_with_its_state_is_the_same_instance(watched):
    for instance in list(watched.application.instances.values()):
        before = watched.begin()
        instance.close()
        instance.start()
        change = watched.change(before)
        assert Reason.RESTARTED in change.reasons
        assert [change.joined, change.left] == [(), ()]
        assert places(change.restarted) == [instance.endpoint]
        assert change.unavailable_ms is not None
