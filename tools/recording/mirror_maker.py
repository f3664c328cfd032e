"""What MirrorMaker 2's own classes answer: names, records, properties and translated offsets."""

from pathlib import Path
from typing import Any

from tools.recording.case_files import read_cases, write_cases
from tools.recording.kafka_classes import ask

Case = dict[str, Any]

_POLICY_KINDS = [
    *("corner_case", "predicate", "topic_name", "offset_syncs_location", "should_replicate"),
    *("count_hops", "topic_set", "call", "rename_topic", "task_assignment", "acl_sync"),
]
_TRANSLATION_KINDS = ["offset_sync_store", "checkpoint", "checkpoint_sequence", "sync_emission"]
_PROPERTY_KINDS = ["cluster_pairs", "effective_connector_config", "worker_config", "defaults"]


def record_replication_policy(version: str, folder: Path) -> None:
    """Write what the policies, the client and the connectors of MirrorMaker 2 answer."""
    _record("replication_policy", _POLICY_KINDS, "AskMirrorMaker", version, folder)


def record_mirror_maker_records(version: str, folder: Path) -> None:
    """Write the bytes of MirrorMaker 2's records and of the offsets that Connect keeps for it."""
    _record("mirror_maker_records", ["vector", "refuse", "json"], "AskMirrorMaker", version, folder)


def record_offset_translation(version: str, folder: Path) -> None:
    """Write what MirrorMaker 2 makes of offset syncs, committed offsets and copied records."""
    _record("offset_translation", _TRANSLATION_KINDS, "AskOffsetTranslation", version, folder)


def _record(subject: str, kinds: list[str], program: str, version: str, folder: Path) -> None:
    document = read_cases(subject)
    asked = [case for case in document["cases"] if case["kind"] in kinds]
    answered = ask(f"org.apache.kafka.connect.mirror.{program}", asked, version)
    for case, answer in zip(asked, answered, strict=True):
        case.update(answer)
    write_cases(document, kinds, version, folder)


def record_mirror_maker_properties(version: str, folder: Path) -> None:
    """Write the pairs, settings and defaults that MirrorMaker 2 makes of mm2.properties."""
    document = read_cases("mirror_maker_properties")
    cases = [case for case in document["cases"] if case["kind"] in _PROPERTY_KINDS]
    texts = ["\n".join(map(" = ".join, case.get("properties", {}).items())) for case in cases]
    told = ask("AskMirrorConfig", [text or "clusters = A, B" for text in texts], version)
    for case, file in zip(cases, told["files"], strict=True):
        if case["kind"] == "cluster_pairs":
            case["expected_pairs"] = sorted(file["pairs"])
            case["expected_count"] = len(file["pairs"])
        else:
            found = _settings(case, file, told)
            case["expected"] = {
                key: _shown(key, found.get(key), before) for key, before in case["expected"].items()
            }
    write_cases(document, _PROPERTY_KINDS, version, folder)


def _settings(case: Case, file: Case, told: Case) -> Case:
    if case["kind"] == "worker_config":
        found = file["workers"][case["flow"]]
    elif case["kind"] == "defaults":
        # Every connector has the common ones, and a filter of the source connector one of its own.
        of = told["defaults"] | {"Top": told["top"]}
        of |= {"Common": of["Heartbeat"], "Source": told["filter"] | of["Source"]}
        found = of[case["connector"].capitalize()]
    else:
        kind = case["connector"].removeprefix("Mirror").removesuffix("Connector")
        found = file["connectors"][f"{case['flow']} {kind}"]
    return dict(found)


def _shown(key: str, value: str | None, before: Any) -> Any:
    if value is None:
        return None
    if isinstance(before, dict):
        return before | {"value": value}
    return (
        value.rpartition(".")[2] if key.endswith((".class", ".reporters", ".converter")) else value
    )
