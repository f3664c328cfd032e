"""What Strimzi makes of a cluster's `tls` and `authentication`: secrets are names of Secrets. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jobs.replication.mirror_config.read.yaml_nodes import Leaf, Node, mapping, sequence, text_of
from jobs.replication.mirror_config.values import Entry, Kind, Value, ruled, written

_SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
_MODULES = {
    "plain": ("PLAIN", "org.apache.kafka.common.security.plain.PlainLoginModule"),
    "scram-sha-256": ("SCRAM-SHA-256", _SCRAM_MODULE),
    "scram-sha-512": ("SCRAM-SHA-512", _SCRAM_MODULE),
}
_EntryOf = Callable[[str, Node], Entry]


def security_of(section: Mapping[str, Node], entry_of: _EntryOf) -> dict[str, Value]:
    """Return the security settings of a cluster's section, references in place of secrets."""
    has_tls = "tls" in section and not _is_empty_leaf(section["tls"])
    found: dict[str, Value] = {}
    if has_tls and sequence(mapping(section["tls"]).get("trustedCertificates")):
        found |= _store("truststore", "tls.trustedCertificates")
    protocol = "SSL" if has_tls else "PLAINTEXT"
    authentication = mapping(section.get("authentication"))
    kind = text_of(authentication.get("type"))
    if kind in _MODULES:
        protocol = f"SASL_{protocol}"
        found |= _login(kind, authentication, entry_of)
    elif kind == "custom":
        is_sasl = text_of(authentication.get("sasl")) == "true"
        protocol = f"SASL_{protocol}" if is_sasl else protocol
        config = mapping(authentication.get("config")).items()
        found |= {key: written(entry_of(key, leaf)) for key, leaf in config}
    elif kind == "tls":
        found |= _store("keystore", "authentication.certificateAndKey")
    elif kind:
        protocol = f"SASL_{protocol}"
        rule = f"authentication.type {kind}"
        found["sasl.mechanism"] = ruled("OAUTHBEARER", rule)
    rule = "tls" if has_tls else "no tls"
    found["security.protocol"] = ruled(protocol, f"by {rule} and authentication")
    return found


def _is_empty_leaf(node: Node) -> bool:
    return isinstance(node, Leaf) and node.text is None


def _store(store: str, why: str) -> dict[str, Value]:
    rule = f"Strimzi mounts {why}"
    return {
        f"ssl.{store}.type": ruled("PKCS12", rule),
        f"ssl.{store}.location": ruled(f"(mounted by Strimzi: {why})", rule),
    }


def _login(kind: str, section: Mapping[str, Node], entry_of: _EntryOf) -> dict[str, Value]:
    mechanism, module = _MODULES[kind]
    found = {"sasl.mechanism": ruled(mechanism, f"authentication.type {kind}")}
    user = section.get("username")
    if user is None:
        return found
    secret = mapping(section.get("passwordSecret"))
    reference = f"${{secret:{text_of(secret.get('secretName'))}:{text_of(secret.get('password'))}}}"
    entry = entry_of("username", user)
    text = f'{module} required username="{entry.value}" password="{reference}";'
    rule = "authentication.username and passwordSecret"
    found["sasl.jaas.config"] = Value(text, Kind.DERIVED, entry, rule)
    return found
