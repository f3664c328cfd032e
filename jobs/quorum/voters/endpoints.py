"""Endpoints of voters that other nodes cannot reach, or that several voters share. Pure.

A node without advertised.listeners writes what it listens at into the voters. The connections there are
last until the active controller is gone: then the voters do not find each other (KAFKA-20661).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from jobs.cluster.network_addresses import host_address, is_any_address, is_loopback_host
from jobs.quorum.voters.voter_sets import Endpoint, VoterSet

ENDPOINT_TODO = (
    "Set advertised.listeners of each controller to a host and port that all other nodes reach, and restart "
    "one controller after the other, the active one last. Until then keep the active controller running."
)


@dataclass(frozen=True, slots=True)
class EndpointFault:
    """An endpoint that does not lead to its voter; `voter_ids` are the voters that have it."""

    endpoint: Endpoint
    voter_ids: tuple[int, ...]
    why: str

    @property
    def sentence(self) -> str:
        """Who has it, and what is wrong with it."""
        is_one = len(self.voter_ids) == 1
        who = f"Voter{'' if is_one else 's'} {', '.join(map(str, self.voter_ids))}"
        return f"{who} {'has' if is_one else 'have'} the endpoint {self.endpoint}: {self.why}"


def endpoint_faults(voters: VoterSet, other_hosts: Collection[str] = ()) -> list[EndpointFault]:
    """Return what is wrong with the endpoints of voters.

    `other_hosts`: hosts of brokers. Voters at loopback may all be on one machine, which is no fault; another
    host among them, brokers at several hosts, or one port used twice show that they are not.
    """
    listed = [(voter.id, endpoint) for voter in voters for endpoint in voter.endpoints]
    named = {one.host.lower() for _, one in listed if _leads_elsewhere(one.host)}
    machines = {one.lower() for one in other_hosts if _leads_elsewhere(one)}
    sharing: dict[tuple[str, int], list[tuple[int, Endpoint]]] = defaultdict(list)
    for id_, one in listed:
        sharing[_machine(one.host), one.port].append((id_, one))
    places = [(same[0][1], tuple(sorted({id_ for id_, _ in same}))) for same in sharing.values()]
    # Who listens at all addresses has the port of its machine for itself.
    any_ports = {one.port for _, one in listed if is_any_address(one.host)}
    has_port_twice = any(len(ids) > 1 for _, ids in places) or any(
        is_loopback_host(one.host) and one.port in any_ports for _, one in listed
    )
    is_one_machine = not named and len(machines) <= 1 and not has_port_twice
    return [
        EndpointFault(endpoint, ids, why)
        for endpoint, ids in places
        for why in _faults(endpoint, ids, is_one_machine=is_one_machine)
    ]


def _faults(endpoint: Endpoint, ids: tuple[int, ...], *, is_one_machine: bool) -> Iterator[str]:
    if is_any_address(endpoint.host):
        yield f"{endpoint.host or 'an empty host'} is no address that another node can call."
    elif is_loopback_host(endpoint.host) and not is_one_machine:
        yield "a loopback address is reached by its own machine only."
    if len(ids) > 1:
        yield "requests reach one of them only."


def _leads_elsewhere(host: str) -> bool:
    return not is_any_address(host) and not is_loopback_host(host)


def _machine(host: str) -> str:
    """Return a host such that the names of loopback, and the forms of one address, are equal."""
    address = host_address(host)
    if address is None and is_loopback_host(host):
        return "127.0.0.1"
    return str(address or host.lower().rstrip("."))
