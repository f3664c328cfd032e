"""Ask for events of topics of a real cluster, and look at the types of what is written."""

import time

from jobs.spark.analyses.analysis import checked_arguments
from jobs.spark.analyses.document import document_of
from jobs.spark.analyses.task import AnalysisTask
from jobs.tracing.extractors.extractor import Extractor, preset_extractor
from tests.live.spark.analyses.conftest import Found, read


def ask_events(spark, cluster, tmp_path, kind, **arguments):
    """Return the answer of a kind; `extractor` is a preset or the values of an extractor."""
    folder = tmp_path / f"{time.monotonic_ns()}"
    folder.mkdir()
    given = arguments.pop("extractor")
    is_preset = isinstance(given, str)
    extractor = preset_extractor(given) if is_preset else Extractor.from_mapping(given)
    resources = {
        "cluster": {"connection": cluster.connection.to_mapping()},
        "extractor": {"extractor": extractor.to_mapping(), "registry": None},
    }
    task = AnalysisTask(spark, folder, folder / "tables", folder / "histories", resources)
    named = {"cluster": "east", "extractor": extractor.name, **arguments}
    checked = checked_arguments(kind, named)
    answer = kind.run(task, checked)
    document_of(kind, checked, answer, task.tables, 0.0)
    return Found(dict(answer.facts), answer.notes, {t.name: read(t, task) for t in kind.tables})
