from collections.abc import Iterator

import pytest

from tests.jobs.cluster.schemas.registry_server import RegistryServer, registry_server


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with registry_server() as found:
        yield found
