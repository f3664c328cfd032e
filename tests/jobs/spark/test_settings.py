"""The Spark of a job and its settings."""

import pytest

from jobs.spark import settings
from jobs.spark.contract import JobSpec


def spec(tasks: int = 3, **spark: str) -> JobSpec:
    return JobSpec("r", "replicate", {"flow": {"tasks": tasks}}, spark=spark)


def made(**spark: str) -> dict[str, str]:
    return settings.spark_settings(spec(**spark), "/venv/bin/python")


@pytest.fixture(autouse=True)
def no_variables(monkeypatch):
    for name in ("MASTER", "DRIVER_HOST", "PROPERTIES"):
        monkeypatch.delenv(f"CROSSLOG_SPARK_{name}", raising=False)
    monkeypatch.setenv("CROSSLOG_SPARK_SECRET", "env:CROSSLOG_SECRET_SPARK")
    monkeypatch.setenv("CROSSLOG_SECRET_SPARK", "shared with the cluster")


def test_by_default_this_machine_has_a_core_for_every_task():
    assert settings.master_of(spec(tasks=3)) == "local[3]"


def test_a_job_that_is_no_flow_has_as_many_cores_as_it_names_tasks():
    assert settings.master_of(JobSpec("r", "isr-churn", {"tasks": 2})) == "local[2]"


def test_only_flows_keep_the_memory_of_batches_that_are_gone():
    churn = settings.spark_settings(JobSpec("r", "isr-churn", {"tasks": 2}), "/venv/bin/python")
    kept = "spark.executorEnv.MALLOC_TRIM_THRESHOLD_"
    assert (kept in made(), kept in churn) == (True, False)


@pytest.mark.parametrize(
    ("kind", "is_reused"),
    [
        ("replicate", "false"),
        ("flows", "false"),
        ("backfill", "true"),
        ("engine", "true"),
        ("metadata-history", "true"),
    ],
)
def test_only_what_answers_questions_uses_python_processes_again(kind, is_reused):
    found = settings.spark_settings(JobSpec("r", kind, {}), "/venv/bin/python")
    assert found["spark.python.worker.reuse"] == is_reused
    assert ("spark.sql.session.timeZone" in found) == (is_reused == "true")


def test_the_installation_may_name_another_master(monkeypatch):
    monkeypatch.setenv("CROSSLOG_SPARK_MASTER", "spark://head:7077")
    assert settings.master_of(spec()) == "spark://head:7077"


def test_a_run_may_name_its_own_master(monkeypatch):
    monkeypatch.setenv("CROSSLOG_SPARK_MASTER", "spark://head:7077")
    assert settings.master_of(spec(master="yarn")) == "yarn"


def test_on_this_machine_nothing_listens_for_others():
    assert made()["spark.driver.host"] == made()["spark.driver.bindAddress"] == "127.0.0.1"


def test_on_a_cluster_the_driver_listens_at_the_address_that_is_given_and_no_other(monkeypatch):
    monkeypatch.setenv("CROSSLOG_SPARK_MASTER", "spark://head:7077")
    monkeypatch.setenv("CROSSLOG_SPARK_DRIVER_HOST", "edge.example.org")
    assert made()["spark.driver.host"] == "edge.example.org"
    assert made()["spark.driver.bindAddress"] == "edge.example.org"


@pytest.mark.parametrize(
    ("master", "name"),
    [
        ("spark://head:7077", "spark.cores.max"),
        ("k8s://https://api:6443", "spark.executor.instances"),
        ("yarn", "spark.executor.instances"),
    ],
)
def test_on_a_cluster_there_is_a_core_for_every_task(monkeypatch, master, name):
    monkeypatch.setenv("CROSSLOG_SPARK_MASTER", master)
    assert made()[name] == "3"


def test_a_properties_file_adds_and_replaces(monkeypatch, tmp_path):
    file = tmp_path / "spark.conf"
    file.write_text("# ours\n\nspark.driver.memory 1g\nspark.executor.memory=2g\nspark.a = b=c\n")
    monkeypatch.setenv("CROSSLOG_SPARK_PROPERTIES", str(file))
    found = made()
    assert found["spark.driver.memory"] == "1g"
    assert found["spark.executor.memory"] == "2g"
    assert found["spark.a"] == "b=c"


@pytest.mark.parametrize("line", ["spark.a", "hive.x 1", "= 3", "spark.a ="])
def test_a_properties_file_that_makes_no_sense_is_refused_with_its_line(
    monkeypatch, tmp_path, line
):
    file = tmp_path / "spark.conf"
    file.write_text(f"spark.ok 1\n{line}\n")
    monkeypatch.setenv("CROSSLOG_SPARK_PROPERTIES", str(file))
    with pytest.raises(ValueError, match="line 2"):
        made()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("spark.speculation", "true"),
        ("spark.task.maxFailures", "4"),
        ("spark.dynamicAllocation.enabled", "true"),
    ],
)
def test_a_task_cannot_be_run_twice_at_a_time(name, value):
    assert made(**{name: value})[name] != value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("spark.executorEnv.CROSSLOG_SECRET_EAST", "hunter2"),
        ("spark.driver.extraJavaOptions", "-Dx=CROSSLOG_SECRET_EAST"),
    ],
)
def test_no_setting_may_hold_a_secret(name, value):
    with pytest.raises(ValueError, match="secret"):
        made(**{name: value})


def analysis(**spark: str) -> dict[str, str]:
    return settings.spark_settings(JobSpec("r", "translate", {}, spark=spark), "/venv/bin/python")


def test_tasks_of_analyses_have_a_bound_of_memory_here_and_flows_none():
    name = "spark.python.daemon.module"
    assert analysis()[name] == "jobs.spark.task_daemon"
    assert name not in made()


def test_address_space_of_tasks_has_no_bound_because_segments_are_mapped():
    assert "spark.executor.pyspark.memory" not in analysis()


@pytest.mark.parametrize("given", ["much", "-1", "511", "1.5"])
def test_a_bound_of_memory_that_makes_no_sense_is_refused_by_its_name(monkeypatch, given):
    monkeypatch.setenv("CROSSLOG_TASK_MEMORY_MB", given)
    with pytest.raises(ValueError, match=r"CROSSLOG_TASK_MEMORY_MB: .* no whole number from 512"):
        analysis()


def engine(tasks: int = 3, **spark: str) -> JobSpec:
    return JobSpec("flows-1", "flows", {"tasks": tasks}, spark=spark)


def test_slots_on_this_machine_are_not_bounded_by_cores_and_share_what_is_loaded():
    assert settings.master_of(engine()) == "local[64]"
    found = settings.spark_settings(engine(), "/venv/bin/python")
    assert found["spark.python.daemon.module"] == "jobs.spark.slots.slot_daemon"
    assert "-Xmn8m" in found["spark.driver.extraJavaOptions"]
    assert "spark.executorEnv.MALLOC_TRIM_THRESHOLD_" in found


@pytest.mark.parametrize(
    ("master", "name"),
    [("spark://head:7077", "spark.cores.max"), ("yarn", "spark.executor.instances")],
)
def test_on_a_cluster_a_slot_can_begin_again_beside_the_one_that_is_lost(master, name):
    found = settings.spark_settings(engine(3, master=master), "/venv/bin/python")
    assert found[name] == "6"


@pytest.mark.parametrize(("given", "expected"), [("1", 1), ("64", 64), ("007", 7)])
def test_the_installation_may_say_how_many_slots_an_engine_has(given, expected):
    assert settings.engine_slots({"CROSSLOG_ENGINE_SLOTS": given}) == expected


def test_by_default_an_engine_has_a_slot_for_each_core_and_a_hundred_flows():
    assert 1 <= settings.engine_slots({}) <= settings.MOST_SLOTS_BY_DEFAULT
    assert settings.engine_flows({}) == 100


@pytest.mark.parametrize("given", ["0", "65", "two", "-1", "1.5", "٣"])
def test_another_number_of_slots_is_refused(given):
    with pytest.raises(ValueError, match=r"CROSSLOG_ENGINE_SLOTS: .* from 1 to 64"):
        settings.engine_slots({"CROSSLOG_ENGINE_SLOTS": given})


@pytest.mark.parametrize("given", ["0", "many"])
def test_another_number_of_flows_is_refused(given):
    with pytest.raises(ValueError, match=r"CROSSLOG_ENGINE_FLOWS: .* from 1 on"):
        settings.engine_flows({"CROSSLOG_ENGINE_FLOWS": given})
