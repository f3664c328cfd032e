"""How long reactions to a shrunken ISR take: the measured figures, each with its source. Pure.

Kafka 4.3.1, 4 combined nodes on 2 cores, session timeout 9 s, one partition per topic, acks=all, 100 to 500
records/s of 1 kB. Where a figure is a sum of measured parts it says so.
"""

from __future__ import annotations

from dataclasses import dataclass

from jobs.availability.promotion.actors.kinds import ActorKind

MEASURED = "measured on Kafka 4.3.1 (docs/operate.md)"
ONE_RUN = f"{MEASURED}, one run"
FIVE_RUNS = f"{MEASURED}, five runs"

# A dead broker is noticed after broker.session.timeout.ms, 9 s by default: seen 8.8 to 9.4 s.
SESSION_TIMEOUT_MS = 9_000
DETECTION_LEAST_MS, DETECTION_MOST_MS = 8_800, 9_400
# Kill of the leader of the quorum until the next one serves.
CONTROLLER_ELECTION_MS = 3_300
UNCLEAN_ELECTION_MS = 70
# 200 MB were copied in 10.8 s, detection (at best 8.8 s) included.
COPY_BYTES_PER_S = 100e6


@dataclass(frozen=True, slots=True)
class Span:
    """An expected time in milliseconds, from `least_ms` to `most_ms`; `source` says where it is from."""

    least_ms: float
    most_ms: float
    source: str

    def __str__(self) -> str:
        least, most = seconds(self.least_ms), seconds(self.most_ms)
        return most if least == most else f"{least} to {most}"


def seconds(ms: float) -> str:
    """Return milliseconds as people read them: `0.14 s`, `9.4 s`, `5 min`, `3 h`."""
    if ms >= 7_200_000:  # noqa: PLR2004  two hours
        return f"{ms / 3_600_000:.0f} h"
    if ms >= 120_000:  # noqa: PLR2004  two minutes: seconds say nothing more
        return f"{ms / 60_000:.0f} min"
    return f"{ms / 1000:.2f} s" if ms < 1_000 else f"{ms / 1000:.1f} s"  # noqa: PLR2004  a second


# From acting to the ISR.
ACT = {
    ActorKind.FENCED_STANDBY: Span(100, 140, FIVE_RUNS),
    ActorKind.HELD_BACK_REPLICA: Span(
        100, 800, f"{FIVE_RUNS} each at 1, 10 and 60 s of lag, up to 30 MB"
    ),
    ActorKind.RELAX_MIN_ISR: Span(
        0, 30_000, f"{ONE_RUN}: the change is instant, the stall of pending writes ends after 30 s"
    ),
}
# The producer's outage of a kill -9 of one of two in-sync brokers, detection included.
OUTAGE = {
    ActorKind.FENCED_STANDBY: Span(9_100, 9_100, ONE_RUN),
    ActorKind.HELD_BACK_REPLICA: Span(9_400, 9_400, f"{ONE_RUN}, 20 MB behind"),
    ActorKind.REASSIGN_TO_SPARE: Span(
        10_800, 10_800, f"{ONE_RUN}, a copy of 200 MB; it grows with the data"
    ),
    ActorKind.RELAX_MIN_ISR: Span(
        30_000, 30_000, f"{ONE_RUN}, without the record that ends the stall"
    ),
}
REVERT = {
    ActorKind.FENCED_STANDBY: Span(7, 35, f"{FIVE_RUNS}; by silence 9.6 s"),
    ActorKind.REASSIGN_TO_SPARE: Span(130, 130, f"{ONE_RUN}, taking a replica out"),
}


def act_span(
    kind: ActorKind, partition_bytes: int | None = None, bytes_per_s: float | None = None
) -> Span | None:
    """Return the expected time from acting to the ISR; None without a figure.

    A copy takes as long as its bytes need: at `bytes_per_s` where somebody measured it, else at the rate that
    was seen on one machine, which is a guess for any other.
    """
    if kind is not ActorKind.REASSIGN_TO_SPARE:
        return ACT[kind]
    if partition_bytes is None:
        return None
    if bytes_per_s:
        ms = partition_bytes / bytes_per_s * 1000
        return Span(ms, ms, f"{partition_bytes:,} bytes at {bytes_per_s / 1e6:,.1f} MB/s")
    ms = partition_bytes / COPY_BYTES_PER_S * 1000
    return Span(
        ms, ms, f"{partition_bytes:,} bytes at 100 MB/s, the rate {ONE_RUN}; other networks differ"
    )


def detection_span(session_timeout_ms: int) -> Span:
    """Return how long it takes until a dead broker is fenced, for a broker.session.timeout.ms."""
    shift = session_timeout_ms - SESSION_TIMEOUT_MS
    source = MEASURED if not shift else f"{MEASURED} with 9 s, moved by {seconds(abs(shift))}"
    return Span(DETECTION_LEAST_MS + shift, DETECTION_MOST_MS + shift, source)
