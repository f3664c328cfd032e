"""The secure listeners of the lab."""

import pytest

from jobs.cluster.admin.brokers import describe_cluster
from jobs.cluster.client import ClusterClient


@pytest.mark.parametrize(
    ("protocol", "mechanism"),
    [
        pytest.param("PLAINTEXT", None, id="plaintext"),
        pytest.param("SSL", None, id="tls"),
        pytest.param("SASL_PLAINTEXT", "PLAIN", id="plain"),
        pytest.param("SASL_PLAINTEXT", "SCRAM-SHA-256", id="scram-256"),
        pytest.param("SASL_PLAINTEXT", "SCRAM-SHA-512", id="scram-512"),
        pytest.param("SASL_SSL", "PLAIN", id="plain-over-tls"),
        pytest.param("SASL_SSL", "SCRAM-SHA-512", id="scram-512-over-tls"),
    ],
)
def test_every_listener_lets_the_admin_in(secure, protocol, mechanism):
    with ClusterClient(secure.connection(protocol, mechanism), timeout_s=30) as client:
        assert len(describe_cluster(client).brokers) == 1
