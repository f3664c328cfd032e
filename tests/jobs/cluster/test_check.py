"""What the check on saving finds in a cluster's own description."""

import pytest

from jobs.cluster import check
from jobs.cluster.descriptions import BrokerDescription, ClusterDescription
from jobs.cluster.errors import ClusterFault, NotAuthorized

EVERYTHING = frozenset({"DESCRIBE", "DESCRIBE_CONFIGS", "CREATE"})


def cluster(racks=("dc-a",), operations=EVERYTHING) -> ClusterDescription:
    brokers = (BrokerDescription(n, "host", 9092, rack) for n, rack in enumerate(racks, start=1))
    return ClusterDescription("id", tuple(brokers), operations)


@pytest.mark.parametrize(
    ("racks", "words"),
    [
        pytest.param(("dc-a", "dc-b"), [], id="all-have-one"),
        pytest.param((None, None), ["No broker has broker.rack"], id="none-has-one"),
        pytest.param(("dc-a", None, None), ["without broker.rack: 2, 3"], id="some-have-none"),
    ],
)
def test_brokers_without_a_rack_are_named(racks, words):
    findings = check._about_brokers(cluster(racks))
    assert len(findings) == len(words)
    assert all(word in finding for word, finding in zip(words, findings, strict=True))


@pytest.mark.parametrize(
    ("operations", "words"),
    [
        pytest.param(EVERYTHING, [], id="everything"),
        pytest.param(frozenset({"DESCRIBE", "CREATE"}), ["DESCRIBE_CONFIGS"], id="no-configs"),
        pytest.param(
            frozenset({"DESCRIBE"}), ["DESCRIBE_CONFIGS", "CREATE"], id="nothing-but-describe"
        ),
        pytest.param(frozenset(), ["no permission"], id="nothing"),
        pytest.param(None, ["no permission"], id="not-told"),
    ],
)
def test_rights_that_are_missing_are_named(operations, words):
    findings = check._about_operations(cluster(operations=operations))
    assert len(findings) == len(words)
    assert all(word in finding for word, finding in zip(words, findings, strict=True))


def test_a_right_that_is_missing_for_one_thing_does_not_end_the_check():
    def ask():
        raise NotAuthorized("Listing groups: no.", cluster="east")

    found, findings = check._try("groups cannot be listed", ask)
    assert found is None
    assert findings == ["With this principal groups cannot be listed: Listing groups: no."]


def test_a_fault_belongs_to_a_field():
    assert check.field_of_fault(ClusterFault("no", cluster="east")) == "bootstrap_servers"
    assert check.field_of_fault(ClusterFault("no", cluster="e", field="ssl_ca")) == "ssl_ca"
