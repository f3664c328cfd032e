"""When a Streams application of the tests has settled."""

from pathlib import Path

from jobs.lab.cluster import Cluster
from jobs.lab.streams.application import RUNNING_S, StreamsApplication
from jobs.lab.streams.settled import is_settled
from tests.waiting import PATIENCE, eventually


def connection_file(cluster: Cluster, folder: Path) -> str:
    """Write the connection to a cluster as the command reads it; returns its path."""
    path = folder / "streams.yaml"
    text = f"alias: streams\nbootstrap_servers: {cluster.bootstrap_servers}\n"
    path.write_text(text, encoding="utf-8")
    return str(path)


def wait_until_settled(application: StreamsApplication, standbys: int | None = None) -> None:
    """Wait for it; `standbys` None means as many as its settings say."""
    wanted = application.settings.standbys if standbys is None else standbys
    application.wait_until_running(RUNNING_S * PATIENCE)
    eventually(lambda: is_settled(application, wanted), RUNNING_S, every=0.5)
