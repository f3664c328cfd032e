"""Authentication between the processes of a run: Spark's own, and the source of its secret.

Without it a client that reaches a port of the driver can have it deserialise Java objects. On this machine,
on YARN and on Kubernetes Spark makes a secret for each run and keeps it in memory, or in its credentials. A
standalone cluster has one secret for its master, its workers and all applications: that has to be given, by
reference (`CROSSLOG_SPARK_SECRET`). It is never a setting of spark-submit, whose command line every user of
the machine can read: the driver gives it to Spark from inside.
"""

from __future__ import annotations

import logging
import os
import threading
from typing import TYPE_CHECKING

from jobs.cluster.errors import InvalidFields
from jobs.cluster.secrets import SecretRef

if TYPE_CHECKING:
    from pyspark import SparkContext

logger = logging.getLogger(__name__)

CLOSES_WITHIN_S = 20.0
SETTING = "spark.authenticate.secret"
AUTHENTICATED = {
    "spark.authenticate": "true",
    # The handshake by AES, never by DIGEST-MD5, and everything after it encrypted.
    "spark.network.crypto.enabled": "true",
    "spark.network.crypto.saslFallback": "false",
}
_VARIABLE = "CROSSLOG_SPARK_SECRET"


def makes_its_own(master: str) -> bool:
    """Return whether Spark makes a secret of its own for each run with this master."""
    return is_one_process(master) or master == "yarn" or master.startswith("k8s://")


def is_one_process(master: str) -> bool:
    """Return whether driver and executors are one JVM on this machine."""
    return master.startswith("local") and not master.startswith("local-cluster")


def secret_of(master: str) -> str | None:
    """Return the secret that a cluster shares with its applications; None where Spark makes its own.

    Raises ValueError with a sentence that says what is missing, never with the secret.
    """
    if makes_its_own(master):
        return None
    wanted = (
        f"The Spark cluster {master} needs a secret that its master, its workers and crosslog share"
    )
    given = os.environ.get("CROSSLOG_SPARK_SECRET", "")
    if not given:
        raise ValueError(
            f"{wanted}: without it, any client that reaches the driver's port can run code there. Set "
            "spark.authenticate, spark.authenticate.secret and spark.network.crypto.enabled in the cluster's "
            "spark-defaults.conf, and "
            f"{_VARIABLE}=env:CROSSLOG_SECRET_NAME or file:NAME here."
        )
    try:
        secret = SecretRef.parse(given).resolve()
    except InvalidFields as refusal:
        # What was given may be the secret itself.
        raise ValueError(f"{_VARIABLE}: {refusal.errors['secret']}") from None
    except LookupError as refusal:
        raise ValueError(f"{wanted}: {refusal.args[0]}.") from None
    if not secret:
        raise ValueError(f"{wanted}: {given} is empty.")
    return secret


def open_context(master: str) -> SparkContext:
    """Return the Spark context of this driver: what spark-submit got, and the secret of the cluster."""
    from pyspark import SparkConf, SparkContext

    secret = secret_of(master)
    more = SparkConf()
    if secret is not None:
        more.set(SETTING, secret)
    context = SparkContext.getOrCreate(more)
    context.setLogLevel("WARN")
    return context


def close_context(context: SparkContext) -> None:
    """Stop Spark; where it does not end in `CLOSES_WITHIN_S`, continue without waiting.

    What the driver found is written all the same, and the supervisor ends the processes.
    """
    closing = threading.Thread(target=context.stop, name="close-context", daemon=True)
    closing.start()
    closing.join(CLOSES_WITHIN_S)
    if closing.is_alive():
        logger.error("Spark does not stop: it is left to the supervisor")


def shrink_heap(context: SparkContext) -> None:
    """Let the JVM collect what its start has left, and give back the memory that it does not need any more.

    Its collector does neither by itself while hardly anything is allocated.
    """
    java = context._jvm  # noqa: SLF001  PySpark has no way of its own to Java's System
    if java is not None:
        java.System.gc()


def why_over(context: SparkContext) -> str | None:
    """Return why Spark works for this driver no longer, in a sentence; None while it does."""
    java = context._jsc  # noqa: SLF001  PySpark does not tell whether the context was stopped from below
    if java is not None and not java.sc().isStopped():
        return None
    master = context.master or "local"
    if makes_its_own(master):
        return f"Spark ({master}) exited unexpectedly; see its log."
    return (
        f"The Spark cluster {master} does not answer, refused the connection or ended this run. Check its "
        f"master's log, and that {_VARIABLE} names the cluster's secret."
    )
