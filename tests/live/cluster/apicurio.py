"""Apicurio Registry of this machine, fetched from Maven once, with the Ivy that comes with PySpark."""

import contextlib
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import httpx

from jobs.files import cache_folder
from jobs.lab.install.fetch import ivy_jar, only_one
from jobs.lab.install.java import find_java
from tests.waiting import eventually

# The last line of releases that runs with Java 17.
VERSION = "2.6.13.Final"
NAME = "apicurio-registry-app"
IVY = f"""
<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="crosslog" module="tests"/>
  <dependencies>
    <dependency org="io.apicurio" name="{NAME}" rev="{VERSION}" transitive="false">
      <artifact name="{NAME}" type="tar.gz" ext="tar.gz" m:classifier="all"/>
    </dependency>
  </dependencies>
</ivy-module>
"""


def program() -> Path:
    """Return the jar of the program; 142 MB are fetched when it is not there yet."""
    folder = cache_folder() / f"apicurio-{VERSION}"
    folder.mkdir(parents=True, exist_ok=True)
    # The folder of Ivy goes last: with it the rest is not whole.
    runner = folder / f"{NAME}-{VERSION}-runner.jar"
    with only_one(folder / "fetch.lock"):
        if not runner.exists() or (folder / "ivy").exists():
            fetch(folder)
    return runner


def fetch(folder: Path) -> None:
    (folder / "ivy.xml").write_text(IVY, encoding="utf-8")
    given = os.environ.get("CROSSLOG_IVY_SETTINGS")
    command = [str(find_java().command), "-Xmx256m", "-jar", str(ivy_jar())]
    command += ["-settings", given] if given else []
    command += ["-cache", str(folder / "ivy"), "-ivy", str(folder / "ivy.xml")]
    command += ["-retrieve", str(folder / "[artifact].[ext]")]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    archive_path = folder / f"{NAME}.tar.gz"
    with tarfile.open(archive_path) as archive:
        archive.extractall(folder, filter="data")
    archive_path.unlink()
    shutil.rmtree(folder / "ivy")


@contextlib.contextmanager
def apicurio(port: int, folder: Path) -> Iterator[str]:
    """Run a registry that keeps its schemas in memory; gives the address of its compatible API."""
    environment = {
        **os.environ, "QUARKUS_HTTP_HOST": "127.0.0.1", "QUARKUS_HTTP_PORT": str(port)
    }  # fmt: skip
    url = f"http://127.0.0.1:{port}/apis/ccompat/v7"
    command = [str(find_java().command), "-Xmx300m", "-XX:TieredStopAtLevel=1", "-jar"]
    with (folder / "apicurio.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, str(program())], env=environment, stdout=log, stderr=log
        )
    try:
        eventually(lambda: answers(process, url), within=90)
        yield url
    finally:
        process.kill()
        process.wait()


def answers(process: subprocess.Popen[bytes], url: str) -> bool:
    assert process.poll() is None
    with contextlib.suppress(httpx.TransportError):
        return httpx.get(f"{url}/subjects").is_success
    return False
