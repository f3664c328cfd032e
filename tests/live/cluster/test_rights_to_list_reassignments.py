"""Which right listing reassignments takes on a real cluster."""

import pytest

from jobs.cluster.admin.reassignments import list_reassignments
from jobs.cluster.client import ClusterClient
from jobs.cluster.errors import NotAuthorized


def test_listing_reassignments_needs_describe_on_the_cluster(secure):
    limited = secure.connection(
        "SASL_PLAINTEXT", "PLAIN", user="limited", password="CROSSLOG_SECRET_LAB_LIMITED"
    )
    with ClusterClient(limited, timeout_s=30) as client, pytest.raises(NotAuthorized) as refused:
        client.ask("Listing reassignments", list_reassignments)
    assert (
        refused.value.hint == "Listing reassignments needs the operation DESCRIBE on the cluster."
    )
    with ClusterClient(secure.connection("SASL_PLAINTEXT", "PLAIN"), timeout_s=30) as client:
        assert client.ask("Listing reassignments", list_reassignments) == {}
