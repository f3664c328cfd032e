"""Bytes of the metadata log as Kafka's own classes read and write them."""

import base64
import re
import uuid
from pathlib import Path
from typing import Any

from tools.recording.case_files import read_cases, write_cases
from tools.recording.kafka_classes import ask

_ZERO_ID, _UNASSIGNED = "AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAQ"
_NAMES = {"directory_id": "voterDirectoryId", "elr": "eligibleLeaderReplicas"}
_NAMES["kraft_version"] = "kRaftVersion"
# What a case does not say of a partition.
_PARTITION = {"partition_id": 0, "leader_epoch": 0, "partition_epoch": 0, "elr": []}
_PARTITION |= {"removing_replicas": [], "adding_replicas": []}


def record_kraft_vectors(version: str, folder: Path) -> None:
    """Write `cases.json`: every case has the bytes, fields and texts that Kafka's classes answer."""
    document = read_cases("kraft_vectors")
    cases = document["cases"]
    answers = ask("KraftVectors", [_question(case) for case in cases], version)
    for case, answer in zip(cases, answers, strict=True):
        case |= {name: _told(case[name], answer[name]) for name in answer.keys() & case.keys()}
    write_cases(document, list(dict.fromkeys(case["kind"] for case in cases)), version, folder)


def _question(case: dict[str, Any]) -> dict[str, Any]:
    """Return a case with Kafka's records for a partition and its changes.

    What it does not say: the replicas are those in sync and eligible, the first in sync leads, 2 are enough.
    """
    if "before" not in case:
        return case
    before = _PARTITION | {"leader": case["before"]["isr"][0], "min_isr": 2} | case["before"]
    replicas = before.setdefault("replicas", sorted(before["isr"] + before["elr"]))
    online = [one for one in replicas if one not in case.get("offline", ())]
    return case | {
        "before": _record(before),
        "changes": [_record({"partition_id": 0} | change) for change in case.get("changes", [])],
        "online": online,
        "target_isr": case.get("target_isr", [one for one in before["isr"] if one in online]),
        "min_isr": before["min_isr"],
    }


def _record(fields: dict[str, Any]) -> dict[str, Any]:
    directories = [_UNASSIGNED] * len(fields.get("replicas", ())) or None
    named = {_name(name): value for name, value in fields.items()}
    return named | {"topicId": _ZERO_ID, "directories": directories}


def _told(form: Any, theirs: Any) -> Any:
    """Return what Kafka says, with the names and the choice of fields that the case has."""
    if isinstance(form, dict):
        return {name: _field(name, value, theirs) for name, value in form.items()}
    if isinstance(form, list) and form and isinstance(form[0], dict):
        forms = [*form, *form[-1:] * len(theirs)]
        return [_told(one, their) for one, their in zip(forms, theirs, strict=False)]
    if isinstance(form, str) and re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", form):
        return str(uuid.UUID(bytes=base64.urlsafe_b64decode(f"{theirs}==")))
    return theirs


def _field(name: str, form: Any, theirs: dict[str, Any]) -> Any:
    if name == "kraft_version" and "kRaftVersionFeature" in theirs:
        return list(theirs["kRaftVersionFeature"].values())
    if name == "leader":
        return theirs.get(name, "unchanged")
    return _told(form, theirs[_name(name)])


def _name(name: str) -> str:
    return _NAMES.get(name) or re.sub(r"_(\w)", lambda found: found[1].upper(), name)
