"""What a task tells of a partition that it cannot compare."""

import numpy as np
import pytest

from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import TopicPartition
from jobs.replication.flow.spec import FlowSpec
from jobs.spark.analyses.offsets.backtesting.checkpoint_log import Checkpoints
from jobs.spark.analyses.offsets.backtesting.judging import Verdict
from jobs.spark.analyses.offsets.backtesting.partition import Work, backtest_partition
from jobs.spark.analyses.offsets.backtesting.truth import Known

NOBODY = "127.0.0.1:1"


@pytest.fixture
def told(tmp_path):
    """Ask about a partition without offset syncs, of clusters that cannot be reached."""

    def ask(*, is_gone):
        flow = FlowSpec("f", Connection("east", NOBODY), Connection("west", NOBODY))
        one = np.array([5], np.int64)
        places = (TopicPartition("orders", 0), TopicPartition("east.orders", 0))
        checkpoints = Checkpoints(one, one, one, one * 0, one * 0)
        other = np.zeros(1, np.bool_)
        return backtest_partition(
            Work(flow, tmp_path, *places, checkpoints, other, is_gone, False, 0, 1000)
        )

    return ask


def test_a_topic_that_is_gone_leaves_its_checkpoints_unknown(told):
    judged = told(is_gone=True).judged
    assert (judged.why.tolist(), judged.place.tolist()) == ([Known.NO_TOPIC], [-1])
    assert (judged.checkpoint[0], judged.certificate[0]) == (Verdict.UNKNOWN, Verdict.NO_ANSWER)


def test_a_cluster_that_does_not_answer_is_told_with_what_to_do(told):
    found = told(is_gone=False)
    code, message, cluster, hint = found.fault
    assert (code, cluster) == ("unreachable", "west")
    assert message
    assert hint
    assert found.judged is None
