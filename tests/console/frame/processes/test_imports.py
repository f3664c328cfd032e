"""What a process of the console loads before its first request or task."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
SET_UP = "import sys, django; django.setup()"
TASKS = f"{SET_UP}; from console.celery import app; app.loader.import_default_modules()"
NEVER = {"authlib", "llvmlite", "matplotlib", "numba", "pandas", "pyarrow", "pyspark", "typst"}
# The framework of the API loads all of these.
OF_THE_API = {"django.contrib.postgres", "django.test", "requests", "rest_framework.serializers"}


@pytest.mark.parametrize(
    ("code", "refused"),
    [
        pytest.param(SET_UP, NEVER | OF_THE_API, id="a management command"),
        pytest.param(TASKS, NEVER | OF_THE_API, id="a worker"),
        pytest.param("import sys, console.wsgi", NEVER, id="the web process"),
    ],
)
def test_a_process_starts_without_libraries_of_rare_work(code, refused):
    told = f"{code}; print(*sorted({refused} & sys.modules.keys()))"
    ended = subprocess.run([sys.executable, "-c", told], cwd=ROOT, check=True, stdout=subprocess.PIPE)  # fmt: skip
    assert ended.stdout.split() == []
