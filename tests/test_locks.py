"""What is locked for running is enough to run: nothing needs a package that only development has."""

import os
import re
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parent.parent
# Every module of ours, as their programs import them, and what Celery imports only when it connects.
RUN = """
import os, pkgutil, sys
from importlib import import_module

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
os.environ["DJANGO_SETTINGS_MODULE"] = "console.settings"
import django
django.setup()
import console, jobs
for package in (console, jobs):
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not found.name.endswith("__main__"):
            import_module(found.name)
from console.celery import app
from kombu import Connection
from gunicorn.app import wsgiapp
Connection("redis://127.0.0.1:1/0").transport
assert app.backend is not None
"""


def locked(name: str) -> set[str]:
    """The packages of a lock, by their normalised names."""
    lock = (ROOT / "requirements" / f"{name}.txt").read_text("utf-8")
    return {_normal(found) for found in re.findall(r"^([\w.-]+)==", lock, re.MULTILINE)}


def test_every_module_and_the_connection_to_redis_load_without_developments_packages(tmp_path):
    only_dev = locked("dev") - locked("main")
    blocked = {
        module
        for module, owners in packages_distributions().items()
        if {_normal(owner) for owner in owners} <= only_dev
    }
    assert "pytest" in blocked
    ended = subprocess.run(
        [sys.executable, "-c", f"BLOCKED = {blocked!r}\n{RUN}"],
        cwd=ROOT,
        env={**os.environ, "CROSSLOG_DATA": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-2000:]


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
