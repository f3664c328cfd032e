"""The command of Spark's JVM: what Spark's own launcher would have started."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from jobs.spark import class_archive, launcher, settings, submit
from jobs.spark.contract import JobSpec

APPLICATION = ["run.py", "/a run"]
CLUSTER = "spark://127.0.0.1:7077"
MAIN = "org.apache.spark.deploy.SparkSubmit"


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    """No variable of an installation of Spark, and the secret that a cluster needs."""
    for name in [one for one in os.environ if one.startswith(("SPARK_", "HADOOP_", "YARN_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("CROSSLOG_SPARK_SECRET", "env:CROSSLOG_SECRET_SPARK")
    monkeypatch.setenv("CROSSLOG_SECRET_SPARK", "hunter2")


def ours(master="local[2]", kind="isr-churn", py_files=None, **more):
    spec = JobSpec("a run", kind, {"tasks": 2}, spark={"master": master})
    given = {**settings.spark_settings(spec, sys.executable), **more}
    home = submit.spark_home()
    return launcher.spark_command(home, master, "a run", given, py_files, APPLICATION)


def launched(arguments):
    """The command that Spark's launcher makes of the arguments of spark-submit."""
    java, jars = class_archive.java_command(), submit.spark_home() / "jars" / "*"
    ended = subprocess.run(
        [java, "-cp", str(jars), "org.apache.spark.launcher.Main", MAIN, *arguments],
        env={**submit.run_environment(), "SPARK_SCALA_VERSION": "2.13"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip("\0\n").split("\0")


def parts(command):
    """Java and its options in their order, the options of Spark in any, the application."""
    cut, end = command.index(MAIN), len(command) - len(APPLICATION)
    java, given = command[:cut], command[cut + 1 : end]
    program = os.path.realpath(shutil.which(java[0]))
    pairs = sorted(zip(given[::2], given[1::2], strict=True))
    return program, java[1:], pairs, command[end:]


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({}, id="an analysis on this machine"),
        pytest.param({"kind": "replicate"}, id="a flow on this machine"),
        pytest.param({"spark.driver.memory": "1g"}, id="another size of the driver"),
        pytest.param({"spark.driver.extraJavaOptions": "-Da='b c' -Dd"}, id="options with quotes"),
        pytest.param({"spark.driver.extraJavaOptions": "-Da='b'\"'\"'c'"}, id="a quote in quotes"),
        pytest.param({"master": CLUSTER, "py_files": Path("/jobs.zip")}, id="a standalone cluster"),
    ],
)
def test_the_command_is_the_one_that_the_launcher_of_spark_makes(given):
    command = ours(**given)
    assert parts(command) == parts(launched(command[command.index(MAIN) + 1 :]))


@pytest.mark.parametrize(
    ("variable", "setting"),
    [
        ("SPARK_CONF_DIR", None),
        ("SPARK_SUBMIT_OPTS", None),
        ("SPARK_DIST_CLASSPATH", None),
        ("HADOOP_CONF_DIR", None),
        ("YARN_CONF_DIR", None),
        (None, "spark.driver.extraClassPath"),
        (None, "spark.driver.extraLibraryPath"),
        (None, "spark.driver.defaultJavaOptions"),
    ],
)
def test_what_only_spark_submit_knows_is_left_to_it(monkeypatch, variable, setting):
    if variable:
        monkeypatch.setenv(variable, "given")
    assert ours(**({setting: "given"} if setting else {}))[0].endswith("bin/spark-submit")


@pytest.mark.parametrize("option", ["-Xmx2g", "-Dspark.a=b", "-Da='b", r'-Da="b\c"'])
def test_java_options_that_spark_submit_refuses_or_reads_otherwise_are_left_to_it(option):
    command = ours(**{"spark.driver.extraJavaOptions": option})
    assert command[0].endswith("bin/spark-submit")


def test_a_spark_with_a_configuration_of_its_own_is_left_to_spark_submit(tmp_path):
    shutil.copytree(submit.spark_home() / "jars", tmp_path / "jars", copy_function=os.symlink)
    (tmp_path / "conf").mkdir()
    command = launcher.spark_command(tmp_path, "local[1]", "a run", {}, None, APPLICATION)
    assert command[0] == str(tmp_path / "bin" / "spark-submit")


def test_a_class_archive_in_a_folder_with_blanks_and_quotes_is_one_option(tmp_path, monkeypatch):
    monkeypatch.setenv("CROSSLOG_CACHE", str(tmp_path / "a b'c"))
    path = class_archive.archive_path(
        submit.spark_home(), class_archive.java_command(), class_archive.ANALYSES
    )
    path.parent.mkdir(parents=True)
    path.touch()
    assert f"-XX:SharedArchiveFile={path}" in ours()
