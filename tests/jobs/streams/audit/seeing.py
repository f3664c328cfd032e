"""Applications as an audit sees them, made of threads, and what its rules find."""

from jobs.cluster.descriptions import TopicPartition
from jobs.streams.application import (
    Application,
    Protocol,
    Route,
    Subtopology,
    TaskId,
    TasksByRole,
    Thread,
)
from jobs.streams.audit.conditions import Seen
from jobs.streams.audit.rules import MODULES
from jobs.streams.lag import NOT_KEPT
from jobs.streams.observation import Facts, TopicFacts

NOW_MS = 1_800_000_000_000
BEYOND = ("1,200 members: the first 1,000 are kept.",)


def tasks(*numbers):
    return tuple(TaskId("0", one) for one in numbers)


def place(number):
    return TopicPartition("orders", number)


def thread(number, active=(), *, warm_up=(), standby=(), **fields):
    """A thread of process `number` (its whole part), which has the same number of its host."""
    values = {
        "endpoint": f"h{int(number)}:80",
        "process_id": f"p{int(number)}",
        "version": 11,
        "latest_version": 11,
    } | fields
    now = TasksByRole(tasks(*active), tasks(*standby), tasks(*warm_up))
    return Thread(f"m{number}", f"c{number}", f"/10.0.0.{int(number)}", now=now, **values)


def application(*threads, partitions=4, routes=None, protocol=Protocol.CLASSIC, **fields):
    """An application of one subtopology; `routes` are the routed partitions of each endpoint."""
    if routes is None:
        routes = {}
        for one in threads:
            if one.endpoint is not None:
                routes.setdefault(one.endpoint, []).extend(
                    task.partition for task in one.now.active
                )
    return Application(
        "app",
        protocol,
        "Stable",
        NOW_MS,
        threads,
        {"0": Subtopology("0", ("orders",), partitions)},
        {task: (place(task.partition),) for task in tasks(*range(partitions))},
        {},
        tuple(
            Route(endpoint, frozenset(map(place, own)), frozenset())
            for endpoint, own in routes.items()
        ),
        {"orders": partitions},
        **fields,
    )


def streams_application(*threads, **fields):
    return application(*threads, protocol=Protocol.STREAMS, **fields)


def seen(of, minutes_before=1, lag_records=None, **fields):
    """What a collection saw; the whole lag is in one partition, None: not known."""
    before = Facts(NOW_MS - minutes_before * 60_000, {}, {})
    facts = NOT_KEPT
    if lag_records is not None:
        count = of.topic_partitions["orders"]
        starts = dict.fromkeys(range(count), 0)
        orders = TopicFacts(count, starts, starts | {0: lag_records})
        facts = Facts(NOW_MS, {"orders": orders}, {})
    return Seen(of, facts, before, **fields)


def conditions(of, **fields):
    """Return what rules find or do not know, by the code of its check."""
    what = of if isinstance(of, Seen) else seen(of, **fields)
    found = [one for module in MODULES for rule in module.RULES for one in rule(what)]
    return {one.check.id: one for one in found}


def found(of, **fields):
    return {code for code, one in conditions(of, **fields).items() if one.holds}


def not_known(of, **fields):
    return {code for code, one in conditions(of, **fields).items() if one.holds is None}
