"""The operations of the API: their names, out of the document, and the live schema for whoever asks."""

import functools
import re
from pathlib import Path
from typing import Any

import pytest

DOCUMENT = Path(__file__).parents[3] / "docs" / "openapi.yaml"
_PLACE = re.compile(r"^  (/\S+):$|^    (get|post|put|patch|delete):$", re.MULTILINE)


def _operations() -> list[tuple[str, str]]:
    found, path = [], ""
    for at in _PLACE.finditer(DOCUMENT.read_text(encoding="utf-8")):
        path = at[1] or path
        if at[2]:
            found.append((at[2], path))
    return found


OPERATIONS = [pytest.param(*one, id=" ".join(one)) for one in _operations()]


@functools.cache
def live_schema() -> dict[str, Any]:
    """Return the schema as the route serves it."""
    from drf_spectacular.generators import SchemaGenerator

    return SchemaGenerator().get_schema(request=None, public=True)
