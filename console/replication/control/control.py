"""Runtime controls of a flow: their rules, and how they reach the folder of its run."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from console.replication.flows.models import ReplicationFlow
from console.runs.launcher import this_host
from console.runs.models import Run, RunState
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import InvalidFields
from jobs.spark import contract
from jobs.spark.control import BULK_LAG, LIVE_SETTINGS, Control, changed_live, is_named

logger = logging.getLogger(__name__)


def control_of(flow: ReplicationFlow) -> Control:
    """Return the runtime controls of a flow; raises `InvalidFields` when it was not written by an action."""
    return Control.from_mapping(flow.control)


def merge(stored: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the control with changed values (those not given stay); raises `InvalidFields`.

    `own_limit` says whether `max_bytes_per_s` (None: no limit) counts in place of the flow's setting;
    giving a limit means that it does.
    """
    wanted = {**stored, **values}
    if not wanted.pop("own_limit", True):
        wanted.pop("max_bytes_per_s", None)
    elif values.get("own_limit"):
        wanted.setdefault("max_bytes_per_s", None)
    return to_file(Control.from_mapping(wanted))


def to_file(control: Control) -> dict[str, Any]:
    """Return the content of `control.json`, without what says nothing."""
    found: dict[str, Any] = {
        "paused": sorted(control.paused),
        "priorities": {t: p for t, p in sorted(control.priorities.items()) if p},
        "windows": [window.text.strip() for window in control.windows],
    }
    found = {name: value for name, value in found.items() if value}
    if control.has_limit:
        found["max_bytes_per_s"] = control.limit_bytes_per_s
    if control.bulk_lag != BULK_LAG:
        found["bulk_lag"] = control.bulk_lag
    if control.restart_token:
        topics = sorted(control.restart)
        found["restart"] = {"token": control.restart_token, "topics": topics}
    return found


def shown(flow: ReplicationFlow) -> dict[str, Any]:
    """Return all values of a flow's control, defaults included, as `merge` takes them."""
    control = control_of(flow)
    return {
        "paused": sorted(control.paused),
        "priorities": dict(control.priorities),
        "own_limit": control.has_limit,
        "max_bytes_per_s": control.limit_bytes_per_s,
        "windows": [window.text for window in control.windows],
        "bulk_lag": control.bulk_lag,
    }


def topic_of(name: str) -> str:
    """Return the topic of a name: `orders` of `orders` and of `orders:3`."""
    return name.partition(":")[0]


def add_names(paused: Collection[str], names: Collection[str]) -> list[str]:
    """Return what is paused when these names are, too; a topic swallows its partitions."""
    together = {*paused, *names}
    return sorted(n for n in together if ":" not in n or topic_of(n) not in together)


def take_names(
    paused: Collection[str], names: Collection[str], counts: Mapping[str, int]
) -> list[str]:
    """Return what stays paused when these names are resumed.

    When a partition of a paused topic is resumed, the other partitions stay paused, one by one;
    `counts` says how many a topic has.
    """
    left = {*paused}
    for name in names:
        topic = topic_of(name)
        if name == topic:
            left = {one for one in left if topic_of(one) != topic}
        elif topic in left:
            left |= {f"{topic}:{number}" for number in range(counts.get(topic, 0))}
            left -= {topic}
        left -= {name}
    return sorted(left)


def is_paused(where: TopicPartition, control: Control) -> bool:
    """Return whether a person paused this partition, or its topic."""
    return is_named(where, control.paused)


def wrong_names(
    names: Sequence[str], counts: Mapping[str, int], known: Collection[str] = ()
) -> str:
    """Return a sentence about the names that are nothing of the flow; empty when all are fine.

    `counts` are the partitions of its topics (0: not known), `known` are names that are accepted.
    """
    wrong = [name for name in names if name not in known and not _is_there(name, counts)]
    if not wrong:
        return ""
    return (
        f"Not a topic or partition of this flow: {', '.join(wrong[:20])}. "
        "A topic is named like orders, a partition like orders:3."
    )


def _is_there(name: str, counts: Mapping[str, int]) -> bool:
    topic, colon, number = name.partition(":")
    if topic not in counts or not colon:
        return topic in counts
    is_number = number.isascii() and number.isdecimal() and str(int(number)) == number
    return is_number and (not counts[topic] or int(number) < counts[topic])


def hand_over(flow: ReplicationFlow, run: Run | None) -> bool:
    """Write the flow's control into the folder of its run, if that is here and says something else.

    Returns whether it was written. Without a folder here nothing happens: the worker on the
    run's host writes it.
    """
    if run is None or run.state != RunState.RUNNING or run.host != this_host() or not run.folder:
        return False
    folder = Path(run.folder)
    if not folder.is_dir() or _read(folder) == _file_of(flow, run):
        return False
    # Somebody may have asked for something else since the flow was read.
    flow.refresh_from_db(fields=["control", *LIVE_SETTINGS])
    try:
        contract.write_control(folder, _file_of(flow, run))
    except OSError:
        logger.exception("control could not be written flow=%s run_id=%s", flow.name, run.pk)
        return False
    logger.info("control written flow=%s run_id=%s", flow.name, run.pk)
    return True


def takes_settings(run: Run) -> bool:
    """Say whether this run takes over live settings: an older version reports without stages."""
    return bool(run.stages) or run.reported_at is None


def _file_of(flow: ReplicationFlow, run: Run) -> dict[str, Any]:
    """Return the controls of the run, and live settings that changed since it began."""
    began_as = run.arguments.get("flow")
    if not began_as or not takes_settings(run):
        return dict(flow.control)
    asked: dict[str, Any] = dict(flow.control)
    try:
        settings = changed_live(began_as, flow.spec().to_mapping())
    except InvalidFields:
        return asked
    return asked | ({"settings": settings} if settings else {})


def _read(folder: Path) -> dict[str, Any] | None:
    """Return the controls that the run has; None when they cannot be read."""
    try:
        return contract.read_json(folder / contract.CONTROL) or {}
    except (ValueError, OSError):
        return None
