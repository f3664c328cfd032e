"""What a person types to make a design real: brokers, controllers, topic, policy. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator

from jobs.availability.designer.cluster import standbys_of, voters_of
from jobs.availability.designer.model import CommandGroup
from jobs.availability.designer.requirements import DesignRequirements, ObserverSupport
from jobs.availability.designer.split import Split
from jobs.availability.placements.placement import Placement
from jobs.availability.promotion.actors.commands import STANDBY_SETTING
from jobs.availability.runbooks.kafka_commands import KafkaTools, line, write_file

_FILE = "placement.json"


def command_groups(
    split: Split,
    requirements: DesignRequirements,
    placement: Placement,
    assignment: tuple[tuple[int, ...], ...],
    tools: KafkaTools,
) -> tuple[CommandGroup, ...]:
    """Return everything to type, in the order in which it is done."""
    return (
        *_brokers(split, requirements),
        _controllers(requirements),
        *_placement(split, placement),
        *_topic(split, requirements, placement, assignment, tools),
        *_check(requirements, tools),
    )


def _brokers(split: Split, requirements: DesignRequirements) -> Iterator[CommandGroup]:
    standbys = standbys_of(split, requirements)
    for site in requirements.data_sites:
        plain = [str(one) for one in site.brokers if one not in standbys]
        if plain:
            title = f"Properties of broker {', '.join(plain)}: the site, for placement and for nearby reads"
            yield CommandGroup(title, (f"broker.rack={site.name}",), is_file=True)
    for site in requirements.data_sites:
        for broker in site.brokers:
            if broker in standbys:
                title = f"Properties of broker {broker}, a fenced standby"
                lines = (f"broker.rack={site.name}", STANDBY_SETTING)
                yield CommandGroup(title, lines, is_file=True)


def _controllers(requirements: DesignRequirements) -> CommandGroup:
    layout = [f"--layout={name}={count}" for name, count in voters_of(requirements).items()]
    total = sum(voters_of(requirements).values())
    return CommandGroup(
        f"Plan of the change to {total} voters (voters.json: output of crosslog voters --json; add "
        "--site ID=SITE for each)",
        (line("crosslog", "quorum-change", "voters.json", *layout),),
    )


def _placement(split: Split, placement: Placement) -> Iterator[CommandGroup]:
    if any(split.observers):
        text = json.dumps(placement.as_json())
        yield CommandGroup("Placement constraints", (write_file(_FILE, text),))


def _topic(
    split: Split,
    requirements: DesignRequirements,
    placement: Placement,
    assignment: tuple[tuple[int, ...], ...],
    tools: KafkaTools,
) -> Iterator[CommandGroup]:
    knows = requirements.observers is ObserverSupport.PROMOTES_ITSELF and bool(placement.observers)
    if requirements.is_existing_topic:
        yield from _existing(split, requirements, assignment, tools, knows=knows)
        return
    settings = (
        f"min.insync.replicas={split.least}",
        "unclean.leader.election.enable=false",
    )
    configs = [word for one in settings for word in ("--config", one)]
    create = ["--create", "--topic", requirements.topic]
    if knows:
        where = ["--partitions", str(requirements.partitions), "--replica-placement", _FILE]
    else:
        told = ",".join(":".join(map(str, replicas)) for replicas in assignment)
        where = ["--replica-assignment", told]
    yield CommandGroup("Create the topic", (tools.tool("kafka-topics", *create, *where, *configs),))


def _existing(
    split: Split,
    requirements: DesignRequirements,
    assignment: tuple[tuple[int, ...], ...],
    tools: KafkaTools,
    *,
    knows: bool,
) -> Iterator[CommandGroup]:
    if knows:
        of_topic = ["--entity-type", "topics", "--entity-name", requirements.topic]
        given = ["--alter", "--replica-placement", _FILE]
        yield CommandGroup(
            "Set the placement constraints of the topic; its observers leave the ISR",
            (tools.tool("kafka-configs", *of_topic, *given),),
        )
    wanted = {(requirements.topic, number): replicas for number, replicas in enumerate(assignment)}
    yield CommandGroup(
        "Reassign the replicas; new replicas are copied (--throttle BYTES limits the bandwidth)",
        tools.reassign(wanted),
    )
    yield CommandGroup("Repeat until the reassignment is complete", (tools.verify_reassignment(),))
    least = str(split.least)
    yield CommandGroup(
        "After that, set min.insync.replicas",
        (
            tools.set_topic(
                requirements.topic,
                min_insync_replicas=least,
                unclean_leader_election_enable="false",
            ),
        ),
    )
    elect = ["--election-type", "preferred", "--topic", requirements.topic]
    yield CommandGroup(
        "Elect the preferred leaders",
        tuple(
            tools.tool("kafka-leader-election", *elect, "--partition", str(number))
            for number in range(len(assignment))
        ),
    )


def _check(requirements: DesignRequirements, tools: KafkaTools) -> Iterator[CommandGroup]:
    yield CommandGroup(
        "Check the result: Replicas, Isr, observers outside the ISR",
        (
            tools.tool("kafka-topics", "--describe", "--topic", requirements.topic),
            tools.tool("kafka-metadata-quorum", "describe", "--status"),
        ),
    )
