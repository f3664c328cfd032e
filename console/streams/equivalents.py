"""The call and the command that answer the same question as a page of the streams room."""

from __future__ import annotations

import shlex
from urllib.parse import quote, urlencode

from console.clusters.equivalents import Equivalents
from console.streams.models import StreamsApplication

_COMMAND = "crosslog streams CONNECTION.yaml"


def of_list() -> Equivalents:
    return Equivalents("GET /api/v1/streams/", _COMMAND)


def of_application(row: StreamsApplication) -> Equivalents:
    """Return the equivalents of an application's page."""
    return Equivalents(f"GET {_path(row)}?{_query(row)}", _command(row))


def of_tasks(row: StreamsApplication) -> Equivalents:
    """Return the equivalents of an application's tasks."""
    return Equivalents(f"GET {_path(row)}tasks/?{_query(row)}", _command(row))


def of_rebalances(row: StreamsApplication) -> Equivalents:
    """Return the equivalent of an application's rebalances; the command sees one moment only."""
    return Equivalents(f"GET {_path(row)}rebalances/?{_query(row)}", "")


def of_description(row: StreamsApplication) -> Equivalents:
    return Equivalents(
        f"PUT {_path(row)}description/?{_query(row)}", f"{_command(row)} --topology FILE"
    )


def of_lookup(row: StreamsApplication) -> Equivalents:
    return Equivalents(
        f"POST {_path(row)}key-lookup/?{_query(row)}", f"{_command(row)} --store STORE --key KEY"
    )


def _path(row: StreamsApplication) -> str:
    return f"/api/v1/streams/{quote(row.application_id, safe='')}/"


def _query(row: StreamsApplication) -> str:
    return urlencode({"cluster": row.cluster.alias})


def _command(row: StreamsApplication) -> str:
    return f"{_COMMAND} --application {shlex.quote(row.application_id)}"
