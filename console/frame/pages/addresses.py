"""Addresses of pages whose last word is chosen by strangers: a consumer group may be named `a/../../b`."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from django.http import HttpRequest
from django.urls import register_converter, reverse

_DOTS = frozenset({".", ".."})


class KafkaName:
    """A name as Kafka has it: a group id may hold slashes and line feeds, and any client chooses one.

    What cannot be a segment of an address gets a tilde before it: no letter at all, and `.` and `..`, which
    browsers take for folders. So does a name that begins with a tilde.
    """

    regex = r"[\s\S]+"

    def to_python(self, value: str) -> str:
        return value.removeprefix("~")

    def to_url(self, value: str) -> str:
        """Return what `reverse` quotes."""
        return f"~{value}" if not value or value in _DOTS or value.startswith("~") else value


register_converter(KafkaName, "kafka")


def address_of(name: str, *args: Any) -> str:
    """Return the address of a page; like `reverse`, and browsers leave it as it is.

    Browsers and proxies take `/..` out of an address before it is sent, also when its dots are encoded. In
    an argument with such a segment the slashes are encoded, so that it is one segment; the web server
    decodes them.
    """
    stand_ins = {f"\0{at}\0": arg for at, arg in enumerate(args) if _has_dots(arg)}
    known = {arg: stand_in for stand_in, arg in stand_ins.items()}
    address = reverse(name, args=[known.get(arg, arg) for arg in args])
    for stand_in, arg in stand_ins.items():
        address = address.replace(quote(stand_in), quote(KafkaName().to_url(arg), safe=""))
    return address


def own_path(request: HttpRequest) -> str:
    """Return the path of this page as a browser leaves it, for links of the page to itself."""
    found = request.resolver_match
    if found is None or not _has_dots(request.path):
        return request.path
    return address_of(found.view_name, *(found.args or found.kwargs.values()))


def _has_dots(arg: Any) -> bool:
    return isinstance(arg, str) and arg not in _DOTS and not _DOTS.isdisjoint(arg.split("/"))
