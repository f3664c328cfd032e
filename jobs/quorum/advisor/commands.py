"""The commands of Kafka that change voters, with ids, directories and addresses filled in. Pure.

Source: KIP-853 and the tools of Kafka 4.3.1. `add-controller` reads id, directory and endpoints from the
properties (and the meta.properties beside the log) of the controller that is added, so it runs on that
machine.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection
from dataclasses import dataclass

from jobs.cluster.network_addresses import host_text, is_any_address
from jobs.quorum.voters.voter_sets import ReplicaKey, VoterSet

_QUORUM, _STORAGE = "bin/kafka-metadata-quorum.sh", "bin/kafka-storage.sh"
_UNKNOWN_SERVER = "HOST:PORT"


@dataclass(frozen=True, slots=True)
class Tools:
    """How the commands reach the cluster.

    `bootstrap_server` is a broker's address; without it the listeners of controllers are used. `properties`
    names the file of a controller, with `{id}` for its id. `client_properties` is a file with credentials for
    commands that need no controller's file; empty for none. `cluster_id` empty: not known.
    """

    bootstrap_server: str = ""
    properties: str = "controller-{id}.properties"
    client_properties: str = ""
    cluster_id: str = ""

    def add(self, id_: int, voters: VoterSet, alive: Collection[int]) -> str:
        """Return the command that makes a running controller a voter."""
        config = ["--command-config", self._properties_of(id_)]
        return _line(_QUORUM, *self._reach(voters, alive, id_), *config, "add-controller")

    def remove(self, key: ReplicaKey, voters: VoterSet, alive: Collection[int]) -> str:
        """Return the command that removes a voter; the remaining voters serve it."""
        who = ["--controller-id", str(key.id), "--controller-directory-id", key.directory_id or ""]
        reach = self._reach(voters, alive, key.id)
        return _line(_QUORUM, *reach, *self._credentials(), "remove-controller", *who)

    def describe(self, voters: VoterSet, alive: Collection[int], *, without: int, what: str) -> str:
        """Return the command that shows voters (`--status`) or how far each is (`--replication`)."""
        reach = self._reach(voters, alive, without)
        return _line(_QUORUM, *reach, *self._credentials(), "describe", what)

    def format(self, id_: int) -> str:
        """Return the command that prepares an empty disk, so that the node joins without a vote."""
        cluster = ["--cluster-id", self.cluster_id or "CLUSTER_ID"]
        config = ["--config", self._properties_of(id_)]
        return _line(_STORAGE, "format", *cluster, *config, "--no-initial-controllers")

    def _properties_of(self, id_: int) -> str:
        return self.properties.replace("{id}", str(id_))

    def _credentials(self) -> list[str]:
        return ["--command-config", self.client_properties] if self.client_properties else []

    def _reach(self, voters: VoterSet, alive: Collection[int], without: int) -> list[str]:
        if self.bootstrap_server:
            return ["--bootstrap-server", self.bootstrap_server]
        known = [
            f"{host_text(endpoint.host)}:{endpoint.port}"
            for voter in voters
            if voter.id in alive and voter.id != without
            for endpoint in voter.endpoints[:1]
            if not is_any_address(endpoint.host)
        ]
        return ["--bootstrap-controller", ",".join(dict.fromkeys(known)) or _UNKNOWN_SERVER]


def upgrade_kraft_version(tools: Tools) -> str:
    """Return the command that makes a static quorum a dynamic one (Kafka 4.1 and later)."""
    server = tools.bootstrap_server or _UNKNOWN_SERVER
    upgrade = ["upgrade", "--feature", "kraft.version=1"]
    return _line("bin/kafka-features.sh", "--bootstrap-server", server, *upgrade)


def _line(*words: str) -> str:
    """Return one line of a shell; names come from a log, so that each word is quoted where it must be."""
    return " ".join(shlex.quote(word) for word in words)
