"""The demo as its visitor sees it: registers clusters, makes a flow, waits for the first record.

It uses the running console over HTTP and nothing else, as a person with a browser would.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from console.frame.processes.demo_client import NOT_FOUND, DemoClient, Refused
from console.frame.processes.supervisor import StartFailed

FLOW = "east to west"
WATCHED_FLOW = "east to west by MirrorMaker 2"
# What the lab lets its MirrorMaker 2 copy (`jobs.lab.daemon.MIRRORED`).
MIRRORED = "mirrored-.*"
TOPICS = ("orders", "payments", "clicks", "customers")
REPORT = "Disaster recovery of the last 24 hours"
REPORT_CRON = "0 7 * * *"
# Below the demo's REPORT_FOLDER.
REPORT_RECIPIENT = {"channel": "folder", "address": "disaster-recovery"}
# Of the order flow of the lab's shop (`jobs.lab.traffic.services`); slips of the demo are young.
EXTRACTOR = "order fulfilment"
STEPS = ("validate", "price", "pay", "pack", "ship", "inspect", "refund")
DEFINITION: Mapping[str, object] = {
    "preset": "spring-dlt",
    "topics": ", ".join(f"fulfilment.{name}" for name in (*STEPS, "done", "dlq")),
    "fields": {
        "id": "header:slip-id",
        "type": "header:slip-type",
        "steps": "header:slip as csv",
        "done": "header:slip-done as csv",
    },
    "topic_steps": {f"fulfilment.{step}": step for step in STEPS},
    "groups": {step: f"fulfilment-{step}" for step in STEPS},
    "end_topics": ["fulfilment.done"],
    "stuck_after_s": 10,
    "redact": ["value:/total"],
}
# Subject of an analysis by the type of its argument, and further arguments of some kinds.
ABOUT = {"log": "east", "flow": FLOW, "cluster": "east"}
ALSO: Mapping[str, Mapping[str, object]] = {
    "translate": {"flow": FLOW, "group": "shipping"},
    "refine": {"group": "shipping"},
    "backtest": {"days": 1},
    "topic-profile": {"topics": "orders", "bucket": "minute"},
    "key-skew": {"topics": "orders", "keys": "shown"},
    "copy-audit": {"flow": FLOW},
    "store-at": {"topic": "customers"},
    "slips": {"extractor": EXTRACTOR, "bucket": "minute"},
    "outbox": {"topics": "fulfilment.events"},
    "dead-letters": {"extractor": EXTRACTOR, "topics": "fulfilment.dlq"},
    "replay-plan": {"extractor": EXTRACTOR, "topics": "fulfilment.dlq"},
    "claim-checks": {"topics": "orders"},
    "tiered-reach": {"topics": "orders"},
}
# The group of the lab's shops that only commits once (`jobs.lab.traffic.writers.IDLE_GROUP`), and what is
# not found of it.
IDLE_GROUP, NOT_FOUND_OF_IT = "monthly-report", ("group_lag_time", "group_lag_growing")
ASK_EVERY_S = 0.5
NOT_REACHABLE_YET = (409, 503)
BAD_INPUT = 400

Say = Callable[[str], None]
Watch = Callable[[], None]


@dataclass(frozen=True, slots=True)
class DemoSetup:
    """One visit: `watch` is called while waiting, so that programs that die are noticed."""

    client: DemoClient
    say: Say
    watch: Watch

    def register_cluster(self, alias: str, bootstrap_servers: str, timeout_s: float) -> None:
        """Register a cluster, as soon as it answers; one that is registered already stays."""
        if self._exists(f"api/v1/clusters/{alias}/"):
            return
        values = {"alias": alias, "bootstrap_servers": bootstrap_servers}
        self._until(
            lambda: self._is_accepted("api/v1/clusters/", values), f"cluster {alias}", timeout_s
        )
        self.say(f"cluster {alias} is registered")

    def ensure_flow(self) -> int:
        """Return the id of the demo's flow, which is made when it is not there, and started."""
        there = self._find_flow(FLOW)
        if there is not None:
            self.client.post(f"api/v1/flows/{there}/start/")
            return there
        values = {
            "name": FLOW,
            "source": "east",
            "target": "west",
            "topics": list(TOPICS),
            "start": True,
        }
        flow = self.client.post("api/v1/flows/", values)
        self.say(f"flow {FLOW} is made and started")
        return int(flow["id"])

    def exclude_idle_group(self) -> None:
        """Exclude the group that reads nothing on purpose from the checks of lag, once."""
        path = "api/v1/check-settings/"
        for check in NOT_FOUND_OF_IT:
            if not self.client.get(f"{path}?check={check}")["results"]:
                values = {"check": check, "group_pattern": IDLE_GROUP, "is_excluded": True}
                self.client.post(path, values | {"note": "Reads once a month."})

    def ensure_watched_flow(self) -> int:
        """Return the id of the flow that MirrorMaker 2 copies, which is made when it is not there."""
        there = self._find_flow(WATCHED_FLOW)
        if there is not None:
            return there
        values = {
            "name": WATCHED_FLOW,
            "source": "east",
            "target": "west",
            "topics": [MIRRORED],
            "groups": [MIRRORED],
            "copied_by": "mirror_maker",
            # Its topics are made when MirrorMaker 2 starts.
            "confirm": WATCHED_FLOW,
        }
        flow = self.client.post("api/v1/flows/", values)
        self.say(f"flow {WATCHED_FLOW} is made: crosslog only watches it")
        return int(flow["id"])

    def ensure_report(self, flow_id: int, timeout_s: float) -> str:
        """Return the id of a new report of the flow; from the first time on it is on a schedule, too."""
        found = self.client.get("api/v1/reports/?limit=500")["results"]
        there = next((int(one["id"]) for one in found if one["name"] == REPORT), None)
        if there is None:
            there = self._make_report()
        judged = f"api/v1/flows/{flow_id}/readiness/"
        # A report of a flow that was not judged yet tells less, and is a report.
        self._is_within(timeout_s, lambda: self.client.get(judged)["readiness"] != "unknown")
        run = self.client.post(f"api/v1/reports/{there}/runs/", {})
        path = f"api/v1/report-runs/{run['id']}/"
        ended = {"ready", "failed"}
        self._is_within(timeout_s, lambda: self.client.get(path)["state"] in ended)
        return str(run["id"])

    def ensure_extractor(self) -> None:
        """Create the extractor of the order flow, once."""
        path = "api/v1/extractors/"
        if all(one["name"] != EXTRACTOR for one in self.client.get(path)["results"]):
            self.client.post(path, {"cluster": "east", "name": EXTRACTOR, "definition": DEFINITION})

    def ensure_analyses(self) -> int:
        """Ask one question of each kind that has no run yet; return how many wait in the queue now."""
        self.ensure_extractor()
        now, asked = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), 0
        for kind in self.client.get("api/v1/runs/kinds/"):
            name = kind["kind"]
            if self.client.get(f"api/v1/runs/?kind={name}&limit=1")["results"]:
                continue
            needed = [one for one in kind["arguments"] if one["is_required"]]
            about = {**ABOUT, "moment": now}
            given = {one["name"]: about[one["type"]] for one in needed if one["type"] in about}
            try:
                values = {"kind": name, "arguments": {**given, **ALSO.get(name, {})}}
                self.client.post("api/v1/runs/", values)
            except Refused as refusal:
                self.say(f"analysis {name}: {refusal}")
            else:
                asked += 1
        return asked

    def _make_report(self) -> int:
        values = {"name": REPORT, "kind": "disaster-recovery", "period": "last-24-hours"}
        more = {"with_before": False, "recipients": [REPORT_RECIPIENT]}
        made = self.client.post("api/v1/reports/", {**values, **more})
        schedule = {"name": f"{REPORT}, at 07:00", "kind": "report", "cron": REPORT_CRON}
        self.client.post("api/v1/schedules/", {**schedule, "arguments": {"report": made["id"]}})
        return int(made["id"])

    def _find_flow(self, name: str) -> int | None:
        flows = self.client.get("api/v1/flows/?limit=500")["results"]
        return next((int(flow["id"]) for flow in flows if flow["name"] == name), None)

    def wait_for_record(self, flow_id: int, timeout_s: float) -> Mapping[str, Any]:
        """Return the first partition of the flow whose position is seen to move."""
        path = f"api/v1/flows/{flow_id}/partitions/?limit=500"
        before = {_key(row): row["position"] or 0 for row in self.client.get(path)["results"]}
        found: list[Mapping[str, Any]] = []

        def is_seen() -> bool:
            for row in self.client.get(path)["results"]:
                # A partition that was not there before begins where its log begins.
                begin = before.get(_key(row), row["log_start_offset"] or 0)
                if (row["position"] or 0) > begin:
                    found.append(row)
            return bool(found)

        self._until(is_seen, "the first replicated record", timeout_s)
        return found[0]

    def _until(self, is_true: Callable[[], bool], what: str, timeout_s: float) -> None:
        if not self._is_within(timeout_s, is_true):
            raise StartFailed(f"{what} did not show up in the console within {timeout_s:.0f} s.")

    def _is_within(self, timeout_s: float, is_true: Callable[[], bool]) -> bool:
        end = time.monotonic() + timeout_s
        while not is_true():
            self.watch()
            if time.monotonic() > end:
                return False
            time.sleep(ASK_EVERY_S)
        return True

    def _exists(self, path: str) -> bool:
        try:
            self.client.get(path)
        except Refused as refusal:
            if refusal.status == NOT_FOUND:
                return False
            raise
        return True

    def _is_accepted(self, path: str, values: Mapping[str, object]) -> bool:
        try:
            self.client.post(path, values)
        except Refused as refusal:
            # The console checks the connection first: until the brokers serve, it says no.
            if refusal.status in (*NOT_REACHABLE_YET, BAD_INPUT):
                return False
            raise
        return True


def _key(row: Mapping[str, Any]) -> tuple[str, int]:
    return row["topic"], row["partition"]
