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

# Variables that change nothing in the command.
_HARMLESS = frozenset({"SPARK_HOME", "SPARK_LOCAL_IP", "SPARK_LOCAL_DIRS", "SPARK_USER"})
_FAMILIES = ("SPARK_", "HADOOP_CONF_DIR", "YARN_CONF_DIR")
_EXTRA, _MEMORY = "spark.driver.extraJavaOptions", "spark.driver.memory"
# What else of the settings changes the command.
_OTHERS = frozenset(
    {
        "spark.driver.defaultJavaOptions",
        "spark.driver.extraClassPath",
        "spark.driver.defaultExtraClassPath",
        "spark.driver.extraLibraryPath",
        "spark.remote",
        "spark.submit.deployMode",
    }
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
    options, extra = _module_options(spark_home), settings.get(_EXTRA, "")
    if not options or (spark_home / "conf").exists() or _OTHERS & settings.keys():
        return None
    if any(one.startswith(_FAMILIES) and one not in _HARMLESS for one in os.environ):
        return None
    # Spark reads a backslash otherwise than `shlex`.
    if re.search(r"-Xmx|-Dspark|\\", extra):
        return None
    try:
        words = shlex.split(extra)
    except ValueError:
        return None
    jars = spark_home / "jars"
    first = sorted(jars.glob("slf4j-api-*.jar"))
    return [
        class_archive.java_command(),
        "-cp",
        ":".join(map(str, [spark_home / "conf", *first, jars / "*"])),
        f"-Xmx{settings.get(_MEMORY, '1g')}",
        *words,
        *options,
        "-Dderby.connection.requireAuthentication=false",
        "org.apache.spark.deploy.SparkSubmit",
    ]


def _module_options(spark_home: Path) -> list[str]:
    """Return the options by which this Spark opens Java's modules; empty where they are not found.

    They are constants of one class, in their order.
    """
    for jar in (spark_home / "jars").glob("spark-launcher_*.jar"):
        with zipfile.ZipFile(jar) as classes:
            return [one.decode() for one in _OPTION.findall(classes.read(_CLASS))]
    return []
