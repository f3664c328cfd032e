"""Errors of a lab, with sentences for people."""

from __future__ import annotations


class LabError(Exception):
    """The lab cannot do the request: the message says what happened and what to do.

    `exit_code` is that of the command: 2 for bad input, 1 for what the machine did not allow.
    """

    exit_code = 2


class JavaMissing(LabError):
    """There is no Java that Kafka could run on."""

    exit_code = 1


class FetchFailed(LabError):
    """Kafka's jars are not in the cache and could not be fetched."""

    exit_code = 1


class PortTaken(LabError):
    """Another program listens on a port that the lab wanted."""


class NotServing(LabError):
    """A cluster did not answer in time or one of its nodes ended by itself."""

    exit_code = 1


class UnknownNode(LabError):
    """The lab has no node of this name."""
