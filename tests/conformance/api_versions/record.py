"""Record what a broker answers to ApiVersions: `python -m ...record HOST:PORT FILE`, see the README."""

import asyncio
import json
import sys
from pathlib import Path

from jobs.cluster.connection import Connection
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.transport.apis import BrokerVersions
from jobs.cluster.protocol.transport.connection import BrokerConnection


async def _answer(address: str) -> BrokerVersions:
    async def versions(connection: BrokerConnection) -> BrokerVersions:
        return connection.versions

    connection = Connection.from_mapping({"alias": "recorded", "bootstrap_servers": address})
    async with RawCluster(connection, client_id="record") as cluster:
        return await cluster.ask_any(versions)


def main(address: str, file: str) -> None:
    answer = asyncio.run(_answer(address))
    recorded = {
        "finalized": dict(sorted(answer.features.items())),
        "supported": dict(sorted(answer.supported.items())),
        "ranges": {str(key): list(answer.ranges[key]) for key in sorted(answer.ranges)},
    }
    text = json.dumps(recorded, indent=1)
    Path(file).write_text(
        text.replace("[\n   ", "[").replace(",\n   ", ", ").replace("\n  ]", "]") + "\n"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
