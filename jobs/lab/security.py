"""The secure listeners of a lab: two users, ACLs and certificates, all made up for this machine."""

from __future__ import annotations

import subprocess
from pathlib import Path

from jobs.lab.install.java import Java

# Not secrets: they open nothing but a lab on the loopback address.
USERS = {"admin": "admin-lab-password", "limited": "limited-lab-password"}
_STORE_PASSWORD = "lab-store-password"  # noqa: S105  see above
_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
_ZOOKEEPER_AUTHORIZER = "kafka.security.authorizer.AclAuthorizer"
_SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")


def secure_properties(certificates: Path, *, zookeeper: bool = False) -> dict[str, str]:
    """Return the settings of the secure listeners.

    `admin` may do everything, `limited` is known but has no ACL; clients of the
    plaintext listener (brokers, controllers and tools) may do everything. Users of SCRAM are there where
    formatting makes them (`scram_arguments`), those of PLAIN always.
    """
    settings = {
        "sasl.enabled.mechanisms": ",".join(("PLAIN", *_SCRAM)),
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(certificates / "server.p12"),
        "ssl.keystore.password": _STORE_PASSWORD,
        "ssl.key.password": _STORE_PASSWORD,
        "authorizer.class.name": _ZOOKEEPER_AUTHORIZER if zookeeper else _AUTHORIZER,
        "super.users": "User:ANONYMOUS;User:admin",
    }
    for listener in ("sasl_plaintext", "sasl_ssl"):
        settings[f"listener.name.{listener}.plain.sasl.jaas.config"] = _plain_users()
        for mechanism in _SCRAM:
            settings[f"listener.name.{listener}.{mechanism.lower()}.sasl.jaas.config"] = (
                "org.apache.kafka.common.security.scram.ScramLoginModule required;"
            )
    return settings


def scram_arguments() -> list[str]:
    """Return the arguments of `StorageTool format` that put the users into the metadata log."""
    return [
        f"--add-scram={mechanism}=[name={user},password={password}]"
        for user, password in USERS.items()
        for mechanism in _SCRAM
    ]


def make_certificates(java: Java, folder: Path) -> Path:
    """Make a CA and a server certificate for 127.0.0.1 and localhost; returns the CA as PEM.

    About 2 s. The CA's key and the server's key stand in different stores, because a broker that
    finds both may present either.
    """
    ca = folder / "ca.pem"
    if ca.exists():
        return ca
    folder.mkdir(parents=True, exist_ok=True)
    both = folder / "both.p12"
    store = ["-keystore", str(both), "-storetype", "PKCS12", "-storepass", _STORE_PASSWORD]
    key = ["-keyalg", "RSA", "-keysize", "2048", "-validity", "3650"]
    server = ["-dname", "CN=localhost", "-ext", "san=dns:localhost,ip:127.0.0.1", "-signer", "ca"]
    steps = [
        ["-genkeypair", "-alias", "ca", "-dname", "CN=crosslog lab", "-ext", "bc:c", *key, *store],
        ["-genkeypair", "-alias", "server", *server, *key, *store],
        ["-importkeystore", "-srckeystore", str(both), "-srcstorepass", _STORE_PASSWORD,
         "-srcalias", "server", "-destkeystore", str(folder / "server.p12"),
         "-deststoretype", "PKCS12", "-deststorepass", _STORE_PASSWORD],
        ["-exportcert", "-rfc", "-alias", "ca", "-file", str(ca), *store],
    ]  # fmt: skip
    for step in steps:
        subprocess.run([java.keytool, *step], capture_output=True, check=True, timeout=60)
    return ca


def _plain_users() -> str:
    users = " ".join(f'user_{user}="{password}"' for user, password in USERS.items())
    return f"org.apache.kafka.common.security.plain.PlainLoginModule required {users};"
