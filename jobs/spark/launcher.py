"""The command of Spark's JVM, made here: `spark-submit` starts another JVM only to make the same one.

It reads files and variables of an installation of Spark, too. Where there is one of those, it is used.
"""

from __future__ import annotations

import os
import re
import shlex
import zipfile
from collections.abc import Mapping
from pathlib import Path

from jobs.spark import class_archive

# Variables and settings that change the command, by how they begin, and variables that do not.
_VARIABLES = ("SPARK_", "HADOOP_CONF_DIR", "YARN_CONF_DIR")
_HARMLESS = frozenset({"SPARK_HOME", "SPARK_LOCAL_IP", "SPARK_LOCAL_DIRS", "SPARK_USER"})
_SETTINGS = (
    *("spark.driver.default", "spark.driver.extraClass", "spark.driver.extraLibrary"),
    *("spark.remote", "spark.submit."),
)
_OPTION = re.compile(rb"(?:--[a-z]|-D|-XX:)[\w:+.=/-]+")
_CLASS = "org/apache/spark/launcher/JavaModuleOptions.class"


def spark_command(
    spark_home: Path,
    master: str,
    name: str,
    settings: Mapping[str, str],
    py_files: Path | None,
    application: list[str],
) -> list[str]:
    """Return the command that runs an application (a file and its arguments), its driver on this machine."""
    arguments = ["--master", master, "--name", name]
    for setting, value in settings.items():
        arguments += ["--conf", f"{setting}={value}"]
    arguments += ["--py-files", str(py_files)] if py_files else []
    jvm = _jvm(spark_home, settings) or [str(spark_home / "bin" / "spark-submit")]
    return [*jvm, *arguments, *application]


def _jvm(spark_home: Path, settings: Mapping[str, str]) -> list[str] | None:
    """Return the command of the JVM; None where only `spark-submit` knows it, or refuses to make one."""
    extra = settings.get("spark.driver.extraJavaOptions", "")
    conf, jars = spark_home / "conf", spark_home / "jars"
    options = _module_options(jars)
    is_other = any(one.startswith(_VARIABLES) for one in os.environ.keys() - _HARMLESS)
    is_other |= any(one.startswith(_SETTINGS) for one in settings) or conf.exists()
    # Spark reads a backslash otherwise than `shlex`.
    if is_other or not options or re.search(r"-Xmx|-Dspark|\\", extra):
        return None
    try:
        words = shlex.split(extra)
    except ValueError:
        return None
    return [
        *(class_archive.java_command(), "-cp"),
        ":".join(map(str, [conf, *sorted(jars.glob("slf4j-api-*.jar")), jars / "*"])),
        *(f"-Xmx{settings.get('spark.driver.memory', '1g')}", *words, *options),
        "-Dderby.connection.requireAuthentication=false",
        "org.apache.spark.deploy.SparkSubmit",
    ]


def _module_options(jars: Path) -> list[str]:
    """Return the options by which this Spark opens Java's modules; empty where they are not found.

    They are constants of one class, in their order.
    """
    for jar in jars.glob("spark-launcher_*.jar"):
        with zipfile.ZipFile(jar) as classes:
            return [one.decode() for one in _OPTION.findall(classes.read(_CLASS))]
    return []
