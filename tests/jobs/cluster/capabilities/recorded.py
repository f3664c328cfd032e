"""Answers of real brokers to ApiVersions, see tests/conformance/api_versions."""

import json
from pathlib import Path

from jobs.cluster.capabilities.verdicts import ClusterVersions, broker_versions
from jobs.cluster.protocol.transport.apis import BrokerVersions

FOLDER = Path(__file__).parents[3] / "conformance" / "api_versions"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))


def recorded(name, *, hides=(), at_most=None, **supported) -> BrokerVersions:
    """What the broker of a file answers; a proxy `hides` requests, or bounds versions (`at_most`)."""
    values = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    answer = broker_versions(values | supported)
    ranges = {key: span for key, span in answer.ranges.items() if key not in hides}
    for key, highest in (at_most or {}).items():
        ranges[key] = (ranges[key][0], highest)
    return BrokerVersions(ranges, answer.features, supported=answer.supported)


def recorded_cluster(name, *, brokers=(1,), has_topic_ids=True, **proxy) -> ClusterVersions:
    """A cluster of such brokers."""
    return ClusterVersions(
        dict.fromkeys(brokers, recorded(name, **proxy)), has_topic_ids=has_topic_ids
    )
