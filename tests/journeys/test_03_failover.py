"""A consumer group fails over to the target and back; offsets are compared with the records themselves."""

import pytest

from jobs.replication.failover.reports.signing import verify
from tests.live.groups import committed, consume, new_group
from tests.live.records import produce
from tests.live.topics import ends_of
from tests.live.whole_batches import read_placed
from tests.waiting import eventually

pytestmark = pytest.mark.journey
RECORDS = 400
READY_WITHIN_S = 60
DONE = {"succeeded", "failed", "refused", "partial"}


def test_a_group_fails_over_to_the_target_and_back_and_skips_no_record(world):
    topic, group = world.topic("moved", 2), new_group()
    settings = {"emit_checkpoints_interval_s": 2, "groups": [group]}
    with world.flow(topic, **settings) as flow:
        values = {r.value for p in (0, 1) for r in produce(world.east, topic, RECORDS // 2, p)}
        read = consume(world.east, group, topic, RECORDS // 2)
        flow.wait_for_positions(ends_of(world.east, topic))
        eventually(lambda: readiness(flow, group) == "ready", READY_WITHIN_S, every=0.5)
        assert_translated_as_the_records_are(flow, topic)

        there = Plan(flow, "failover", group)
        assert there.carry_out("rehearse")["state"] == "succeeded"
        assert committed(world.west, group) == {}
        assert there.carry_out("apply", confirm=there.name)["state"] == "succeeded"
        assert committed(world.west, group) == there.targets()
        there.assert_report_is_signed()
        on_west = consume(world.west, group, f"east.{topic}")
        assert {*read, *on_west} == values
        assert len(read) + len(on_west) - len(values) <= there.reread_most()

        new = {r.value for r in produce(world.east, topic, 50)}
        back = Plan(flow, "failback", group)
        assert back.carry_out("apply", confirm=back.name)["state"] == "succeeded"
        on_east = consume(world.east, group, topic)
        assert {*read, *on_west, *on_east} == values | new
        assert len(on_east) - len(new) <= back.reread_most()


def readiness(flow, group: str) -> str:
    found = flow.world.get(f"flows/{flow.id}/checkpoints/?group={group}")["results"]
    return found[0]["readiness"] if found else ""


def assert_translated_as_the_records_are(flow, topic: str) -> None:
    """Compare certificates of some offsets with where the records of both sides are."""
    east, west = (read_placed(c, n) for c, n in (
        (flow.world.east, topic), (flow.world.west, f"east.{topic}")))  # fmt: skip
    asked = [(p, record) for p in east for record in east[p][::40]]
    for partition, record in asked:
        place = f"topic={topic}&partition={partition}&offset={record.offset}"
        told = flow.world.get(f"flows/{flow.id}/translate/?{place}")
        true = next(one.offset for one in west[partition] if one.value == record.value)
        assert told["lo"] <= true <= (true if told["hi"] is None else told["hi"]), told


class Plan:
    """A failover plan of a flow, made over REST and ready."""

    def __init__(self, flow, direction: str, group: str) -> None:
        self.world, self.name = flow.world, f"{direction} of {group}"
        self._plans = f"flows/{flow.id}/failover-plans/"
        asked = {"name": self.name, "groups": [group], "direction": direction}
        self._path = f"{self._plans}{self.world.post(self._plans, asked)['id']}/"
        eventually(lambda: self._state() not in {"queued", "reading"}, 60, every=0.3)
        assert self._state() == "ready", self.world.get(self._path)

    def _state(self) -> str:
        return str(self.world.get(self._path)["state"])

    def group(self) -> dict:
        (found,) = self.world.get(f"{self._path}groups/")["results"]
        return dict(found)

    def targets(self) -> dict[str, int]:
        """Return the offsets that it sets, by topic and partition."""
        return {f"{i['to_topic']}-{i['partition']}": i["target"] for i in self.group()["items"]}

    def reread_most(self) -> int:
        return int(self.group()["reread_most"])

    def carry_out(self, step: str, **values: str) -> dict:
        """Ask for a dry run or for the change itself, and return its run once it has ended."""
        asked = self.world.post(f"{self._path}{step}/", values)["id"]

        def run() -> dict:
            runs = self.world.get(f"{self._path}runs/")["results"]
            return next(dict(one) for one in runs if one["id"] == asked)

        eventually(lambda: run()["state"] in DONE, 60, every=0.3)
        return run()

    def assert_report_is_signed(self) -> None:
        """Verify the report of the newest run with the key of this installation."""
        key = self.world.get("report-key/")
        signed_by = verify(self.world.get(f"{self._path}report/"), key["public_key_pem"])
        assert signed_by == key["key_id"]
