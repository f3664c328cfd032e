"""What becomes of answers when no record can be read; with records two real clusters are used."""

import pyarrow as pa
import pyarrow.parquet as pq

from jobs.spark.analyses.offsets.bulk.answering import Asking, answer
from jobs.spark.analyses.offsets.bulk.question_rows import QUESTIONS
from jobs.spark.analyses.offsets.bulk.refined import REFINED, RefinePart
from tests.jobs.spark.analyses.offsets.archives import flow, make_archive


def test_where_a_cluster_goes_away_bounds_stay_and_each_row_says_so(tmp_path):
    asking = Asking(make_archive(tmp_path / "syncs", {("orders", 0): [(0, 0), (100, 90)]}), flow())
    offsets = [0, 50, 60, 200]
    columns = [[1, 2, 3, 4], [None] * 4, ["orders"] * 4, [0] * 4, offsets]
    table, _ = answer(asking, pa.table(columns, QUESTIONS))
    pq.write_table(table, tmp_path / "answers.parquet")
    refined = pq.read_table(RefinePart(asking, 10)(tmp_path / "answers.parquet"))
    assert refined.schema.equals(REFINED)
    exact, *vague = refined.to_pylist()
    assert (exact["exact"], exact["fault"]) == (True, None)
    for row in vague:
        assert (row["lo"], row["hi"], row["exact"]) == (row["lo_before"], row["hi_before"], False)
        assert row["reason"].startswith("east: ")
        assert (row["fault"], row["is_away"], row["compared"]) == ("east", True, None)
