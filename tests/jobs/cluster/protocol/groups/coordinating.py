"""Fake brokers that say who coordinates a group."""

from kio.schema.errors import ErrorCode
from kio.schema.find_coordinator.v4 import response as finds

from tests.jobs.cluster.protocol.fake_broker import NOW


def coordinators(of_group, error=ErrorCode.none):
    """Say who coordinates each group, `of_group` by its name."""

    def answer(asked):
        return finds.FindCoordinatorResponse(
            throttle_time=NOW,
            coordinators=tuple(
                finds.Coordinator(
                    key=key, node_id=of_group(key), host="127.0.0.1", port=1, error_code=error,
                    error_message=None,
                )
                for key in asked.message.coordinator_keys
            ),
        )  # fmt: skip

    return answer
