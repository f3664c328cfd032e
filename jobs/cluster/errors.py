"""Faults of requests to a cluster, named once: other modules read no error numbers."""

from __future__ import annotations

from enum import StrEnum

from jobs.cluster.untrusted_text import redact_secrets


class Remedy(StrEnum):
    """What ends a fault; every class of faults states its own.

    RETRY: the same request may succeed later. DOUBTFUL: it may, as at a broker that is stopping, but wrong
    settings look the same: where nothing ever succeeded and it lasts, it is final. START_OVER: not the same
    request, but the work begun again from what is committed. OPERATOR: a person changes a right, a secret or
    a cluster, and the next try succeeds. FINAL: no try with the same settings succeeds.
    """

    RETRY = "retry"
    DOUBTFUL = "doubtful"
    START_OVER = "start_over"
    OPERATOR = "operator"
    FINAL = "final"


class ClusterFault(Exception):
    """A request to a cluster failed.

    `code` is stable and machine-readable, `remedy` says what ends the fault (`patience.Patience` how long a
    loop waits for that), `hint` tells a person what to do next, `field` is the setting of the connection to
    which the message belongs. Secrets are cut out of the message.
    """

    code = "cluster_fault"
    remedy = Remedy.OPERATOR
    hint = "Look at the broker's log for the same moment."
    field = "bootstrap_servers"

    def __init__(
        self, message: str, *, cluster: str, hint: str | None = None, field: str | None = None
    ) -> None:
        message = redact_secrets(message)
        super().__init__(message)
        self.message = message
        self.cluster = cluster
        if hint is not None:
            self.hint = hint
        if field is not None:
            self.field = field

    def __str__(self) -> str:
        return f"{self.cluster}: {self.message}"

    @property
    def retriable(self) -> bool:
        """Whether the same request may succeed later although no person changes anything."""
        return self.remedy in {Remedy.RETRY, Remedy.DOUBTFUL}

    @property
    def is_final(self) -> bool:
        """Whether no try with the same settings can succeed."""
        return self.remedy is Remedy.FINAL


class Unreachable(ClusterFault):
    """No broker of the bootstrap list answered in time."""

    code = "unreachable"
    remedy = Remedy.RETRY
    hint = "Start the broker if it is down; else check host, port and the firewalls between."


class NameNotResolved(ClusterFault):
    """A bootstrap host name is not known to DNS."""

    code = "name_not_resolved"
    remedy = Remedy.RETRY
    hint = "Check the spelling of the host name and the DNS of this machine."


class TlsFailed(ClusterFault):
    """The TLS handshake failed, for example because the port speaks plaintext."""

    code = "tls_failed"
    remedy = Remedy.FINAL
    hint = "Check that the port is a TLS listener and that the CA signed the broker's certificate."
    field = "security_protocol"


class ProtocolMismatch(ClusterFault):
    """The port answers, but not in the way that the security protocol says."""

    code = "protocol_mismatch"
    remedy = Remedy.FINAL
    hint = (
        "The listener probably expects another security protocol (TLS or SASL): "
        "compare with the broker's listeners."
    )
    field = "security_protocol"


class AuthenticationFailed(ClusterFault):
    """The broker refused this user, password or mechanism."""

    code = "authentication_failed"
    remedy = Remedy.OPERATOR
    hint = (
        "Check the user name, the secret behind the reference, and which SASL mechanisms "
        "the listener allows."
    )
    field = "sasl_password"


class NotAuthorized(ClusterFault):
    """The principal is known but may not do this."""

    code = "not_authorized"
    remedy = Remedy.OPERATOR
    hint = "Give the principal the missing ACL."


class TimedOut(ClusterFault):
    """The cluster answered too slowly."""

    code = "timed_out"
    remedy = Remedy.RETRY
    hint = (
        "The cluster may be overloaded or electing leaders. The next collection queries it again."
    )


class UnknownTopicOrPartition(ClusterFault):
    """The topic or partition does not exist (any more)."""

    code = "unknown_topic_or_partition"
    remedy = Remedy.OPERATOR
    hint = "It may have been deleted: check the topic's name."


class RecordTooLarge(ClusterFault):
    """The target does not take a record of this size."""

    code = "record_too_large"
    remedy = Remedy.OPERATOR
    hint = "Raise max.message.bytes of the target topic above the size of the record, then restart the flow."


class ClusterIdChanged(ClusterFault):
    """Behind the same address there is now another cluster than the one that was registered.

    `found` is the id of the cluster that is there now.
    """

    code = "cluster_id_changed"
    remedy = Remedy.FINAL
    hint = "If the cluster was really replaced, confirm the new cluster id on the cluster's settings page."
    found = ""


class SeveralClusters(ClusterFault):
    """The bootstrap servers of one connection belong to more than one cluster."""

    code = "several_clusters"
    remedy = Remedy.FINAL
    hint = "Keep the bootstrap servers of one cluster, and register the other cluster under its own alias."


class RegisteredTwice(ClusterFault):
    """The cluster behind the bootstrap servers is registered under another alias already."""

    code = "registered_twice"
    remedy = Remedy.FINAL
    hint = "Correct the bootstrap servers, or remove this cluster."


class SameCluster(ClusterFault):
    """Source and target of a flow are one cluster."""

    code = "same_cluster"
    remedy = Remedy.FINAL
    hint = "Correct the bootstrap servers of one of the two."


class SecretMissing(ClusterFault):
    """A secret reference points to nothing."""

    code = "secret_missing"
    remedy = Remedy.OPERATOR
    hint = "Set the environment variable, or create the file that the reference names."


class SecretReplaced(ClusterFault):
    """The secret behind a reference is another one than that with which a consumer or producer began."""

    code = "secret_replaced"
    remedy = Remedy.RETRY
    hint = "Consumers and producers are created again with the new one."


class Refused(ClusterFault):
    """The cluster understood the request and refused it."""

    code = "refused"
    remedy = Remedy.OPERATOR


class InvalidFields(ValueError):
    """Input with problems at named fields: `errors` maps a field's name to one sentence."""

    def __init__(self, errors: dict[str, str]) -> None:
        super().__init__("; ".join(f"{field}: {text}" for field, text in errors.items()))
        self.errors = errors
