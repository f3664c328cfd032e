"""What the program that makes a report gets of its worker's environment."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping

from django.views.debug import SafeExceptionReporterFilter

from console.env import names_read
from jobs.spark.submit import VARIABLES

_SECRET = SafeExceptionReporterFilter.hidden_settings
_FAMILIES = ("CROSSLOG_", "DJANGO_", "LC_", "MALLOC_", "MPL", "OMP_", "OPENBLAS_", "PYTHON")
# Those of the PostgreSQL client, its password included.
_DATABASE = re.compile(r"PG(?!P_)[A-Z0-9]+")


def environment_of_maker(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what the program gets: settings, and of the secrets only those of the database and of Redis.

    Nothing that it does is signed or encrypted, so the key of the console is replaced by a random one.
    """
    settings = {one for name in names_read() for one in (name, f"{name}_FILE")}
    passed = {name: value for name, value in environ.items() if _is_passed(name, settings)}
    return {**passed, "SECRET_KEY": secrets.token_urlsafe(50)}


def _is_passed(name: str, settings: set[str]) -> bool:
    if _DATABASE.fullmatch(name):
        return True
    is_needed = name in VARIABLES or name in settings or name.startswith(_FAMILIES)
    return is_needed and not _SECRET.search(name)
