"""Applications of the tests from outside, as the cluster shows them, beside what their instances say."""

import asyncio
import time
from typing import Any

from console.streams.collection.rows import worst_misrouted_share
from jobs.cluster.protocol.cluster import RawCluster
from jobs.lab.cluster import Cluster
from jobs.lab.streams.application import StreamsApplication
from jobs.lab.streams.settled import KEYS, route_alike
from jobs.streams.application import Application
from jobs.streams.assembly import application_of
from jobs.streams.audit.conditions import MOST, Condition, Seen
from jobs.streams.audit.rules import audit, conditions_in
from jobs.streams.collection.applications import find_applications, observe
from jobs.streams.lag import NOT_KEPT
from jobs.streams.observation import Facts, Observation
from jobs.streams.topology.reading import read_description
from tests.waiting import eventually

BUDGET_S = 30.0
_CALM_S = 60
_STABLE = "Stable"


def seen(cluster: Cluster, application: StreamsApplication) -> Observation:
    """What the cluster tells of an application now."""

    async def ask() -> Observation:
        async with RawCluster(cluster.connection, client_id="test") as raw:
            name = application.settings.application_id
            found = await find_applications(raw, known=[name], budget_s=BUDGET_S)
            now_ms = int(time.time() * 1000)
            return await observe(raw, found, name, now_ms=now_ms, budget_s=BUDGET_S)

    return asyncio.run(ask())


def both_sides(
    cluster: Cluster, application: StreamsApplication, names: list[str], keys: list[str] = KEYS
) -> tuple[Application, dict[str, Any]]:
    """The application from outside, and what its instances say while nothing moved in between."""
    found: list[Any] = []

    def at_rest() -> bool:
        before = application.inside(keys)
        outside = seen(cluster, application)
        after = application.inside(keys)
        text = application.instances[names[0]].topology()
        found[:] = [application_of(outside, read_description(text)), after]
        return outside.group.state == _STABLE and route_alike(
            {name: before[name] for name in names}, after
        )

    eventually(at_rest, _CALM_S)
    return found[0], found[1]


class Auditor:
    """Audits an application again and again, as the collections of a console do."""

    def __init__(self, cluster: Cluster, application: StreamsApplication) -> None:
        self._cluster = cluster
        self._application = application
        self._before: Facts | None = None
        self._memory: dict[str, Any] = {}
        # Those of the last look; None: the group did not show its tasks.
        self.conditions: dict[str, Condition] | None = None

    def look(self) -> dict[str, Condition] | None:
        """Audit what the cluster tells now."""
        outside = seen(self._cluster, self._application)
        found = application_of(outside)
        if outside.group.state != _STABLE or not found.tasks:
            self.conditions = None
            return None
        seen_now = Seen(
            found,
            outside.facts,
            before=self._before,
            joined=NOT_KEPT,
            misrouted=worst_misrouted_share(found),
            memory=self._memory,
        )
        stored = audit(seen_now)
        self._before, self._memory = outside.facts, stored["memory"]
        self.conditions = conditions_in(stored)
        return self.conditions

    def failures(self) -> set[str] | None:
        """The failures of a look that hold now, however short they have held."""
        found = self.look()
        return None if found is None else {name for name, one in found.items() if is_failure(one)}


def holds(one: Condition) -> bool:
    """Whether a condition holds, by the default of the threshold for its number."""
    most = {each.name: each.default for each in one.check.thresholds}.get(MOST, 0)
    return bool(one.holds) and (one.value is None or one.value > most)


def is_failure(one: Condition) -> bool:
    """Whether a condition holds, and is a fault and no advice."""
    return holds(one) and not one.check.is_advice
