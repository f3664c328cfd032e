"""Kafka's own classes, put questions by a Java program of this folder."""

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from jobs.lab.errors import LabError
from jobs.lab.install.preparation import kafka_jvm
from jobs.lab.install.program import with_program
from jobs.lab.properties import logging_configuration

_SOURCES = Path(__file__).parent
_LIMIT_S = 120


def ask(main: str, questions: object, version: str) -> Any:
    """Return the JSON that a class of `recording/` writes for this JSON, with the classes of a Kafka version.

    `main` is the full name of the class; its package may be Kafka's own, to use what is not public.
    It is run as `CLASS QUESTIONS ANSWERS` with two files. About 4 s the first time, 1 s afterwards. Raises
    `LabError` with the end of what Java said.
    """
    jvm = with_program(kafka_jvm(version), _SOURCES / f"{main.rpartition('.')[2]}.java")
    with tempfile.TemporaryDirectory(prefix="crosslog-recording-") as temporary:
        folder = Path(temporary)
        logging, asked, answered = (folder / name for name in ("log.properties", "in", "out"))
        logging.write_text(logging_configuration("error"), encoding="utf-8")
        asked.write_text(json.dumps(questions), encoding="utf-8")
        done = subprocess.run(
            jvm.command(main, [str(asked), str(answered)], logging=logging),
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=False,
        )
        if done.returncode != 0 or not answered.exists():
            raise LabError(
                f"{main} failed with Kafka {version}: {(done.stdout + done.stderr)[-2000:]}"
            )
        return json.loads(answered.read_text(encoding="utf-8"))
