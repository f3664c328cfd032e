"""What the processes of a run know each other by."""

import pytest

from jobs.spark import secret, settings
from jobs.spark.contract import JobSpec
from jobs.spark.submit import run_environment, submit_command

CLUSTER = "spark://head:7077"


@pytest.fixture(autouse=True)
def no_variables(monkeypatch):
    for name in ("MASTER", "DRIVER_HOST", "PROPERTIES", "SECRET"):
        monkeypatch.delenv(f"CROSSLOG_SPARK_{name}", raising=False)


@pytest.fixture
def told(monkeypatch):
    monkeypatch.setenv("CROSSLOG_SPARK_SECRET", "env:CROSSLOG_SECRET_SPARK")
    monkeypatch.setenv("CROSSLOG_SECRET_SPARK", "hunter2")


def made(master=CLUSTER, **spark):
    spec = JobSpec("r", "replicate", {"flow": {"tasks": 1}}, spark={"master": master, **spark})
    return settings.spark_settings(spec, "/venv/bin/python")


@pytest.mark.parametrize(
    "master", ["local", "local[3]", "local[*]", "yarn", "k8s://https://api:6443"]
)
def test_spark_makes_a_secret_for_each_run_where_it_can(master):
    assert secret.secret_of(master) is None


@pytest.mark.parametrize("master", [CLUSTER, "spark://a:1,b:2", "local-cluster[1,1,1024]"])
def test_a_cluster_is_refused_without_the_secret_that_it_shares(master):
    with pytest.raises(ValueError, match=r"run code there\. Set spark\.authenticate"):
        made(master)


def test_a_cluster_is_used_with_the_secret_that_a_reference_leads_to(told):
    assert secret.secret_of(CLUSTER) == "hunter2"


@pytest.mark.parametrize(
    ("given", "value", "words"),
    [
        pytest.param(
            "hunter2", None, "CROSSLOG_SPARK_SECRET: A secret is a reference", id="no reference"
        ),
        pytest.param("env:CROSSLOG_SECRET_SPARK", None, "is not set", id="no variable"),
        pytest.param("env:CROSSLOG_SECRET_SPARK", "", "is empty", id="empty"),
    ],
)
def test_a_reference_that_leads_to_nothing_is_refused_in_a_sentence_without_the_secret(
    monkeypatch, given, value, words
):
    monkeypatch.setenv("CROSSLOG_SPARK_SECRET", given)
    if value is not None:
        monkeypatch.setenv("CROSSLOG_SECRET_SPARK", value)
    with pytest.raises(ValueError, match=words) as refusal:
        made()
    assert "hunter2" not in str(refusal.value)


@pytest.mark.parametrize("master", ["local[2]", CLUSTER])
@pytest.mark.parametrize("name", list(secret.AUTHENTICATED))
def test_authentication_cannot_be_turned_off(told, monkeypatch, tmp_path, master, name):
    properties = tmp_path / "spark.conf"
    properties.write_text(f"{name} no\n")
    monkeypatch.setenv("CROSSLOG_SPARK_PROPERTIES", str(properties))
    assert made(master)[name] == made(master, **{name: "no"})[name] == secret.AUTHENTICATED[name]


def test_the_secret_is_on_no_command_line(told, tmp_path):
    spec = JobSpec("r", "replicate", {"flow": {"tasks": 1}}, spark={"master": CLUSTER})
    command = " ".join(submit_command(spec, tmp_path))
    assert "spark.authenticate=true" in command
    assert "hunter2" not in command
    with pytest.raises(ValueError, match="visible to every user of this machine"):
        made(**{"spark.authenticate.secret": "hunter2"})


@pytest.mark.parametrize(("is_local", "is_there"), [(True, False), (False, True)])
def test_only_a_run_on_a_cluster_gets_the_secret_of_the_cluster(told, is_local, is_there):
    assert ("CROSSLOG_SECRET_SPARK" in run_environment(is_local=is_local)) is is_there
