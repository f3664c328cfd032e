"""The only way of Apprise to the network: its plugins call services through the outbound guard.

A plugin calls the functions of the module `requests`. Each plugin is imported here only, and its name
`requests` then is a `Door`: the guard decides about host and address, follows no redirect and reads no
proxy of the environment. Apprise logs addresses with secrets in them: nothing of it is logged.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partialmethod
from typing import Any

import requests

from console.frame.security.outbound import Answer, Outbound, OutboundFailed, OutboundRefused
from console.frame.security.outbound_adapter import GuardedAdapter


class Calls:
    """The address that a plugin called last, and how that call ended."""

    def __init__(self, guard: Outbound) -> None:
        self.guard = guard
        self.address = ""
        self.ended: Answer | OutboundRefused | OutboundFailed | None = None

    def answer(self) -> Answer:
        """Return what the service answered; raises what the guard said instead."""
        if isinstance(self.ended, Answer):
            return self.ended
        raise self.ended or OutboundRefused("Nothing was called.")


class Door:
    """In place of the module `requests` in a plugin; it opens only inside `opened`."""

    codes = requests.codes
    RequestException = requests.RequestException

    def request(self, method: str, url: str, **told: Any) -> requests.Response:
        """Send one request; the other arguments of `requests` (redirects, time, trust) are the guard's."""
        calls = _calls.get()
        what = {name: told.get(name) for name in ("headers", "data", "params")}
        request = requests.Request(method.upper(), url, **what).prepare()
        calls.address = request.url or ""
        try:
            calls.guard.check_name(calls.address)
            response = GuardedAdapter(calls.guard).send(request)
        except (OutboundRefused, OutboundFailed) as error:
            calls.ended = error
            raise requests.RequestException from None
        calls.ended = Answer(response.status_code, response.headers, response.content)
        return response

    get = partialmethod(request, "GET")
    post = partialmethod(request, "POST")
    put = partialmethod(request, "PUT")
    delete = partialmethod(request, "DELETE")


_calls: ContextVar[Calls] = ContextVar("calls of a plugin")
_DOOR = Door()


def plugin_module(name: str) -> Any:
    """Return a module of `apprise.plugins` that has no other way out than the guard."""
    logging.getLogger("apprise").addFilter(_nothing)
    module: Any = importlib.import_module(f"apprise.plugins.{name}")
    module.requests = _DOOR
    return module


@contextmanager
def opened(guard: Outbound) -> Iterator[Calls]:
    """Let plugins call through this guard meanwhile, in this thread; yields what they called."""
    calls = Calls(guard)
    token = _calls.set(calls)
    try:
        yield calls
    finally:
        _calls.reset(token)


def _nothing(_: logging.LogRecord) -> bool:
    return False
