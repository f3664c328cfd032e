"""Which partitioner placed keys, why partitions are skewed, and where another partition count would put keys.

Pure rules over the arrays of `summaries`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jobs.spark.analyses.records.keys.summaries import NO_FIRST, Row, grouped, mixed
from jobs.wire.rebatch.table import Int64s

# Java's DefaultPartitioner and librdkafka's murmur2; librdkafka's consistent; librdkafka's fnv1a and Sarama.
RULES = {"murmur2": Row.MURMUR2, "crc32": Row.CRC32, "fnv1a": Row.FNV1A}
KNOWN_SHARE = 0.999
# Keys fit a rule by chance with a probability below 10 to the power of minus this.
_CERTAIN = 6
_LIMIT = 1.5
_PROBE = 200
_HALF = 0.5
Bools = npt.NDArray[np.bool_]


def partitions_by(rule: str, keys: Int64s, count: int) -> Int64s:
    """Return the partition of each key among `count` by a rule, from its unsigned hash of 32 bits."""
    hashes: Int64s = keys[RULES[rule]]
    if rule == "murmur2":
        return (hashes & 0x7FFFFFFF) % count
    if rule == "fnv1a":
        # librdkafka and Sarama take the absolute value of the signed number.
        return np.abs(np.where(hashes >> 31, hashes - (1 << 32), hashes)) % count
    return hashes % count


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Which partitioner placed keys: `name` is a rule, `sticky`, `custom`, `mixed` or `unknown`.

    `share`: of the records of sampled keys, those that the best rule explains (None: there is none).
    `since_ms`: with `mixed`, when a second rule was first seen. `rule`: the best one that is known, else "".
    """

    name: str
    share: float | None = None
    detail: str = ""
    since_ms: int | None = None
    rule: str = ""


def fingerprint(pairs: Int64s, count: int) -> Fingerprint:
    """Return which partitioner placed the sampled keys of a topic of `count` partitions."""
    total = int(pairs[Row.RECORDS].sum())
    if not total or count == 1:
        told = "There is one partition." if total else "There are no keys, or only empty ones."
        return Fingerprint("unknown", detail=told)
    fits = {rule: pairs[Row.LOW] == partitions_by(rule, pairs, count) for rule in RULES}
    best = max(fits, key=lambda rule: int(pairs[Row.RECORDS, fits[rule]].sum()))
    share = int(pairs[Row.RECORDS, fits[best]].sum()) / total
    keys = len(np.unique(pairs[Row.HASH]))
    if keys * math.log10(count) < _CERTAIN:
        return Fingerprint("unknown", share, f"{keys:,} keys are too few to recognise it.")
    if share >= KNOWN_SHARE:
        return Fingerprint(best, share, rule=best)
    return (
        _two_rules(pairs, fits, count, share)
        or _one_then_none(pairs, fits[best], count, (best, share))
        or _no_rule(pairs, share)
    )


def _two_rules(
    pairs: Int64s, fits: Mapping[str, Bools], count: int, share: float
) -> Fingerprint | None:
    """Return a print where two rules, or one with two partition counts, explain everything together."""
    least = KNOWN_SHARE * int(pairs[Row.RECORDS].sum())
    for rule, fit in fits.items():
        # Most candidates fail at the first pairs that the rule leaves.
        probe = pairs[:, np.flatnonzero(~fit)[:_PROBE]]
        others = [(other, other, count) for other in RULES if other > rule]
        others += [(f"{rule} with {n} partitions", rule, n) for n in range(2, count)]
        for name, other, fewer in others:
            if (probe[Row.LOW] == partitions_by(other, probe, fewer)).mean() < _HALF:
                continue
            found = pairs[Row.LOW] == partitions_by(other, pairs, fewer)
            explained = int(pairs[Row.RECORDS, fit | found].sum())
            if explained < least or not _is_certain(pairs, found & ~fit, fewer):
                continue
            if _is_certain(pairs, fit & ~found, count):
                # What both explain says nothing about time.
                return _changed(pairs, (rule, fit & ~found), (name, found & ~fit), share)
            if int(pairs[Row.RECORDS, found].sum()) >= least:
                return Fingerprint("mixed", share, f"{name}, nothing since.", rule=rule)
    return None


def _is_certain(pairs: Int64s, chosen: Bools, count: int) -> bool:
    return len(np.unique(pairs[Row.HASH, chosen])) * math.log10(count) >= _CERTAIN


def _changed(
    pairs: Int64s, one: tuple[str, Bools], other: tuple[str, Bools], share: float
) -> Fingerprint:
    first, last = sorted((one, other), key=lambda part: int(pairs[Row.FIRST, part[1]].min()))
    since = int(pairs[Row.FIRST, last[1]].min())
    if since == NO_FIRST:
        return Fingerprint("mixed", share, f"{one[0]} and {other[0]}.", rule=one[0])
    is_after = int(pairs[Row.LAST, first[1]].max()) <= since
    end = f", then {last[0]}." if is_after else f" and {last[0]}: at least two producers."
    return Fingerprint("mixed", share, first[0] + end, since, one[0])


def _one_then_none(
    pairs: Int64s, fit: Bools, count: int, best: tuple[str, float]
) -> Fingerprint | None:
    """Return a print where a rule explains all keys up to some time, or all from it on."""
    rule, share = best
    # Some of what another rule placed fits by chance, so that only the others have a time.
    begun, ended = int(pairs[Row.FIRST, ~fit].min()), int(pairs[Row.LAST, ~fit].max())
    if begun != NO_FIRST and _is_certain(pairs, pairs[Row.FIRST] < begun, count):
        return Fingerprint("mixed", share, f"{rule}, then no known rule.", begun, rule)
    if ended >= 0 and _is_certain(pairs, (pairs[Row.LAST] > ended), count):
        return Fingerprint("mixed", share, f"No known rule, then {rule}.", ended, rule)
    return None


def _no_rule(pairs: Int64s, share: float) -> Fingerprint:
    keys = grouped(pairs)
    often = keys[:, keys[Row.RECORDS] > 1]
    if not often.shape[1]:
        return Fingerprint("unknown", share, "No known rule, and no key occurs twice.")
    spread = float((often[Row.LOW] != often[Row.HIGH]).mean())
    if spread == 0:
        return Fingerprint("custom", share, "Each key is in one partition, by no known rule.")
    told = f"{spread:.0%} of the keys that occur more than once are in several partitions."
    return Fingerprint("sticky" if spread >= _HALF else "mixed", share, told)


@dataclass(frozen=True, slots=True)
class Skew:
    """How uneven numbers of partitions are; all None where they are all 0."""

    max_mean: float | None
    cv: float | None
    top_share: float | None


def skew_of(numbers: npt.NDArray[np.number]) -> Skew:
    """Return the skew of one number for each partition."""
    total = float(numbers.sum())
    if total <= 0:
        return Skew(None, None, None)
    mean, most = total / len(numbers), float(numbers.max())
    return Skew(most / mean, float(numbers.std()) / mean, most / total)


def hot_ones(top: Int64s, keyed: int, count: int, distinct: int) -> Int64s:
    """Return the keys that matter: 0.1 of a mean partition, and three mean keys or most of the records."""
    least = keyed * max(0.1 / count, min(3 / max(distinct, 1), 0.51))
    found: Int64s = top[:, top[Row.RECORDS] >= max(least, 1)]
    return found


def cause(
    observed: Skew, without_hot: Skew, by_murmur2: Skew, facts: tuple[int, int, int, int]
) -> str:
    """Return the main cause of the skew of partitions as a word.

    `facts`: records, keyed records, partitions, distinct keys. `without_hot`: the observed partitions without
    the records of the hot keys. `by_murmur2`: the same keys as murmur2 places them.
    """
    records, keyed, count, distinct = facts
    most, expected = observed.max_mean or 0.0, by_murmur2.max_mean
    half = (most + 1) / 2
    rules = (
        ("empty", not records),
        ("one_partition", count == 1),
        ("no_keys", not keyed),
        ("balanced", most < _LIMIT),
        ("hot_key", (without_hot.max_mean or 1) <= half),
        ("bad_partitioner", expected is not None and expected <= half),
        ("few_keys", distinct < 10 * count),
    )
    return next((word for word, is_so in rules if is_so), "unexplained")


def apart(first: tuple[Int64s, int], second: tuple[Int64s, int]) -> tuple[int, int, int | None]:
    """Return how many keys two samples (pairs, threshold) both have, how many of them are apart, since when.

    That is the time of the first record in a partition in which the other topic does not have its key.
    """
    least = np.uint64(min(first[1], second[1]))
    sides = [pairs[:, mixed(pairs[Row.HASH]) <= least] for pairs, _ in (first, second)]
    common = np.intersect1d(sides[0][Row.HASH], sides[1][Row.HASH])
    one, other = (side[:, np.isin(side[Row.HASH], common)] for side in sides)
    lonely = [_without(one, other), _without(other, one)]
    times = np.concatenate([side[Row.FIRST] for side in lonely])
    known = times[times != NO_FIRST]
    keys = np.unique(np.concatenate([side[Row.HASH] for side in lonely]))
    return len(common), len(keys), int(known.min()) if len(known) else None


def _without(one: Int64s, other: Int64s) -> Int64s:
    """Return the pairs whose key the other side does not have in the same partition."""
    known = set(zip(*other[[Row.HASH, Row.LOW]].tolist(), strict=True))
    wanted = [pair not in known for pair in zip(*one[[Row.HASH, Row.LOW]].tolist(), strict=True)]
    found: Int64s = one[:, np.array(wanted, np.bool_)]
    return found


def simulated(
    rule: str, keys: Int64s, sample: Int64s, keyed: int, hot: Int64s, count: int
) -> tuple[Skew, float | None, float | None, int]:
    """Return the skew with `count` partitions, the shares of keys and records that move, and the hot keys.

    Order within keys that move is broken at the change. `keys`: the frequent ones. What they leave of the
    `keyed` records belongs to many rare keys: it is spread evenly, and as much of it moves as of the sampled
    ones among them.
    """
    places = partitions_by(rule, keys, count)
    load = np.bincount(places, weights=keys[Row.RECORDS], minlength=count).astype(np.float64)
    rest = max(keyed - int(keys[Row.RECORDS].sum()), 0)
    known = grouped(sample)
    rare = known[:, ~np.isin(known[Row.HASH], keys[Row.HASH])]
    moved = int(keys[Row.RECORDS, _moves(rule, keys, count)].sum())
    of_rare = _share(_moves(rule, rare, count), rare[Row.RECORDS]) or 0.0
    share = (moved + rest * of_rare) / keyed if keyed else None
    return (
        skew_of(load + rest / count),
        _share(_moves(rule, known, count), np.ones(known.shape[1], np.int64)),
        share,
        int(_moves(rule, hot, count).sum()),
    )


def _moves(rule: str, keys: Int64s, count: int) -> Bools:
    """Return which keys are not only in the partition where the rule puts them."""
    there = partitions_by(rule, keys, count)
    found: Bools = (keys[Row.LOW] != there) | (keys[Row.HIGH] != there)
    return found


def _share(chosen: Bools, weights: Int64s) -> float | None:
    total = int(weights.sum())
    return int(weights[chosen].sum()) / total if total else None
