"""Limits of what clients may write and rounds store. docs/operate.md states them.

What is beyond a limit is left out and said. A count is "at least" then, and what follows from all of it is
not known: nothing that was left out is taken for absent.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from itertools import islice

# Kafka's own limit: no topic has a longer name.
_LONGEST_TOPIC = 249
# Characters of a text of a client, of a sentence that quotes such texts, of a value of a setting.
TEXT, SENTENCE, VALUE = 255, 1_000, 10_000
# Sentences about one application.
CAUTIONS = 100
# One application of Kafka Streams: members, tasks, how often its threads name tasks, source partitions of its
# tasks, topics that members name, tags of a member.
MEMBERS, TASKS, TASK_MENTIONS, PLACES, TOPICS, TAGS = 1_000, 10_000, 60_000, 50_000, 1_000, 20
# Bytes of the description of its topology that the broker has (KIP-1331).
DESCRIPTION = 256 * 1024
# What Kafka Streams commits beside an offset: characters of one commit, and of all of an application.
COMMIT, COMMITS = 1_024, 2_000_000
# One cluster: applications in a round, with those that are gone, and seconds and bytes of their snapshots.
APPLICATIONS, APPLICATIONS_KEPT, SNAPSHOT_EVERY_S = 1_000, 2_000, 60
SNAPSHOT_BYTES_PER_DAY = 200_000_000
# One cluster: its groups; partitions of one group, and of all of them.
GROUPS, GROUP_PARTITIONS, ROUND_PARTITIONS = 50_000, 10_000, 500_000
# One internal topic of replication: groups and partitions with a checkpoint, partitions with an offset sync,
# partitions with a position. Characters of the id of a group, and bytes: PostgreSQL's index takes no more.
CHECKPOINTS, SYNCS, POSITIONS = 500_000, 200_000, 200_000
# Partitions in a round whose producers are queried.
STUCK_PARTITIONS = 100
GROUP_ID, GROUP_ID_BYTES = 1_024, 2_400
# The metadata log of a cluster: values of a list in a change, characters of all changes of a day.
VALUES, CHANGES_PER_DAY = 1_000, 200_000_000
# How the sentence begins that a row has where something of it is left out; what that of a whole list has.
LEFT_OUT, GROUPS_LEFT_OUT = "Beyond the limits: ", "groups are left out"
# How the sentence begins that a group has whose row has another name than the group.
CUT_ID = "Its id is cut: "
_DIGEST = 16
# What no database holds: NUL, and halves of surrogate pairs.
_NO_TEXT = re.compile("[\0\ud800-\udfff]")


def short(text: str, most: int = TEXT) -> str:
    """Return a text that a row holds, of at most `most` characters: of another one its begin, and a digest.

    Texts that differ stay different, so that a name can be cut and still be a key.
    """
    if len(text) <= most and not _NO_TEXT.search(text):
        return text
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:_DIGEST]
    begin = _NO_TEXT.sub("\N{REPLACEMENT CHARACTER}", text[: most - _DIGEST - 1])
    return f"{begin}\N{HORIZONTAL ELLIPSIS}{digest}"


def is_group_id(text: str) -> bool:
    """Return whether a row may have the id of a group as it is."""
    return (
        len(text) <= GROUP_ID
        and "\0" not in text
        and len(text.encode(errors="surrogatepass")) <= GROUP_ID_BYTES
    )


def sentences(found: Collection[str], most: int = CAUTIONS) -> tuple[str, ...]:
    """Return sentences, each cut; of many the first ones, and how many more there are."""
    kept = tuple(short(one, SENTENCE) for one, _ in zip(found, range(most), strict=False))
    more = len(found) - len(kept)
    return (*kept, f"{more:,} more of such sentences are left out.") if more else kept


def some(names: Collection[object], most: int = 5) -> str:
    """Return the first names for a sentence, and how many more there are."""
    more = len(names) - most
    return ", ".join(map(str, islice(names, most))) + (f" and {more:,} more" if more > 0 else "")


def beyond(count: int, most: int, what: str) -> str:
    """Return the sentence about a limit that was passed; empty while it was not."""
    return f"{count:,} {what}: the first {most:,} are kept." if count > most else ""


def may_exist(topic: str, partition: int, counts: Mapping[str, int]) -> bool:
    """Say whether a partition that a client names may exist; every one of a topic that was not seen may."""
    count = counts.get(topic)
    return partition >= 0 and (len(topic) <= _LONGEST_TOPIC if count is None else partition < count)
