"""Moments of a partition that tests share, made by hand or by hypothesis."""

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from jobs.availability.status.partition_seen import PartitionSeen
from jobs.availability.status.spans import spans_of

START = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
REPLICAS = (1, 2, 3)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def seen(seconds: float, *isr: int, **fields) -> PartitionSeen:
    """A partition on brokers 1, 2 and 3 whose first in-sync replica leads, with min ISR 2."""
    values = {
        "at": at(seconds),
        "replicas": REPLICAS,
        "isr": isr,
        "leader": isr[0] if isr else None,
        "min_insync_replicas": 2,
    } | fields
    return PartitionSeen(**values)


@st.composite
def histories(draw, longest: int = 12) -> list[PartitionSeen]:
    """Moments in the order in which they happened, at times that never go back."""
    seconds, found = 0, []
    for _ in range(draw(st.integers(1, longest))):
        seconds += draw(st.integers(0, 40))
        isr = draw(st.lists(st.sampled_from(REPLICAS), unique=True, max_size=3))
        least = draw(st.sampled_from([1, 2, 3, 4]))
        observers = draw(st.sampled_from([(), (3,)]))
        found.append(seen(seconds, *isr, min_insync_replicas=least, observers=observers))
    return found


def severity_spans(moments, gone_at=None):
    """How long a partition had which severity."""
    return spans_of(moments, lambda moment: moment.standing.severity, gone_at)
