"""Kafka's own tools about logs: what they print of files."""

import os
import subprocess
from pathlib import Path

import pytest

from jobs.lab.properties import logging_configuration

DUMP = "org.apache.kafka.tools.DumpLogSegments"


def run_tool(kafka, folder: Path, main: str, *arguments: str) -> str:
    """Run a class or a source file of ours; returns its standard output."""
    logging = folder / "log4j2.yaml"
    logging.write_text(logging_configuration("error"), encoding="utf-8")
    command = kafka.command(main, list(arguments), logging=logging)
    # Java writes what its locale can: names here are of any language.
    done = subprocess.run(
        command,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    if "jdk.compiler" in done.stderr:
        pytest.skip("this Java has no compiler")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def dump_log(kafka, folder: Path, files: list[Path], decoder: str) -> str:
    """Return what kafka-dump-log prints of these files."""
    names = ",".join(str(path) for path in files)
    return run_tool(kafka, folder, DUMP, decoder, "--files", names)
