"""What a flow would do that is hardly wanted: it is made only when its name was typed again. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jobs.cluster.descriptions import TopicDescription
from jobs.cluster.errors import InvalidFields
from jobs.replication.flow.selection import is_cycle, is_recursion, policy_of
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.naming.topology import sources_of
from jobs.replication.policy import DefaultReplicationPolicy
from jobs.replication.topics.preview import PreviewInput, TopicPreview

SELECTS_NOTHING = "selects_nothing"
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Caution:
    """Something of a flow that a person should see before it is made: a code, and a sentence."""

    code: str
    text: str


def find_cautions(
    flow: FlowSpec, known: PreviewInput, previews: Sequence[TopicPreview]
) -> list[Caution]:
    """Return what is hardly wanted, as far as the topics of both clusters are known.

    Of a flow that MirrorMaker 2 copies only whether it selects anything: crosslog writes nothing there.
    """
    found = list(_selects_nothing(flow, known, previews))
    if not flow.is_watched:
        found += [*_copies_back(flow, previews), *_single_replicas(flow, known, previews)]
    return found


def refuse_unconfirmed(flow: FlowSpec, cautions: Sequence[Caution], confirmed: str) -> None:
    """Raise `InvalidFields` at `confirm` for cautions, unless the flow's name was typed again."""
    if cautions and confirmed != flow.name:
        told = " ".join(caution.text for caution in cautions)
        raise InvalidFields({"confirm": f"{told} If that is wanted, confirm it: {flow.name}"})


def _selects_nothing(
    flow: FlowSpec, known: PreviewInput, previews: Sequence[TopicPreview]
) -> Iterator[Caution]:
    """A source may have had nothing but copies so far, as one that others fail over to: that is no fault."""
    own = [topic for topic in known.topics if _is_own(flow, topic)]
    if own and not any(one.is_selected for one in previews):
        yield Caution(
            SELECTS_NOTHING,
            f"0 of {len(own)} topics of {flow.source.alias} match: nothing is copied until one does.",
        )


def _is_own(flow: FlowSpec, topic: TopicDescription) -> bool:
    policy, name = policy_of(flow), topic.name
    is_internal = topic.is_internal or policy.is_internal_topic(name)
    is_heartbeats = policy.is_heartbeats_topic(name)
    is_copy = is_cycle(policy, name, flow.target.alias) or is_recursion(flow, name)
    return not (is_internal or is_heartbeats or is_copy)


def _copies_back(flow: FlowSpec, previews: Sequence[TopicPreview]) -> Iterator[Caution]:
    """The flow's own policy protects against its own names; copies may have been named by another."""
    names = DefaultReplicationPolicy()
    back = [
        one
        for one in previews
        if one.is_selected and flow.target.alias in sources_of(names, one.topic)
    ]
    if back:
        yield Caution(
            "copies_back",
            f"{_named([one.topic for one in back])} came from {flow.target.alias}: this flow would write "
            f"the copy back there, as {back[0].remote_topic}.",
        )


def _single_replicas(
    flow: FlowSpec, known: PreviewInput, previews: Sequence[TopicPreview]
) -> Iterator[Caution]:
    if known.brokers is None or known.brokers < 2:  # noqa: PLR2004  a second replica needs a second broker
        return
    made = [one.creates for one in previews if one.creates is not None]
    single = [one.remote_topic for one in made if one.replication_factor == 1]
    if single:
        yield Caution(
            "single_replica",
            f"{_named(single)} would be made with replication factor 1 although {flow.target.alias} has "
            f"{known.brokers} brokers: a partition is offline whenever its broker is. Set the flow's "
            "replication factor.",
        )


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMED])
    more = len(names) - _MOST_NAMED
    return f"{shown} and {more} more" if more > 0 else shown
