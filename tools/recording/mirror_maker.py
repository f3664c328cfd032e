"""What MirrorMaker 2's own classes answer: names, records, properties and translated offsets."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tools.recording.case_files import read_cases, write_json
from tools.recording.kafka_classes import ask

Case = dict[str, Any]
# The questions of a case to Java, and what the answers replace in the case.
Recipe = tuple[list[Case], Callable[[list[Any]], Case]]

_PACKAGE = "org.apache.kafka.connect.mirror"
_PREDICATES = {
    "is_heartbeats": "isHeartbeatsTopic",
    "is_checkpoints": "isCheckpointsTopic",
    "is_mm2_internal": "isMM2InternalTopic",
    "is_internal": "isInternalTopic",
}
_ACL = ("permission", "operation", "topic")
_SETTINGS = {
    "name": "source",
    "connector.class": f"{_PACKAGE}.MirrorSourceConnector",
    "source.cluster.bootstrap.servers": "source",
    "target.cluster.bootstrap.servers": "target",
}


def _expect(question: Case, form: Callable[[Any], Any] = lambda answer: answer) -> Recipe:
    return [question], lambda answers: {"expected": form(answers[0])}


def _policy(about: str, case: Case) -> Case:
    policy = case.get("policy", {})
    with_separator = policy.get("internal_topic_separator_enabled", True)
    settings = {
        "replication.policy.separator": policy.get("separator", "."),
        "replication.policy.internal.topic.separator.enabled": str(with_separator).lower(),
    }
    if policy.get("source_cluster_alias") is not None:
        settings["source.cluster.alias"] = policy["source_cluster_alias"]
    name = policy.get("class", "DefaultReplicationPolicy")
    return {"ask": about, "class": name, "settings": settings}


def _call(case: Case, name: str, *arguments: str, about: str = "policy") -> Case:
    first, *others = name.split("_")
    method = _PREDICATES.get(name, first + "".join(map(str.capitalize, others)))
    return _policy(about, case) | {"method": method, "arguments": arguments}


def _corner_case(case: Case) -> Recipe:
    names = ["topic_source", "upstream_topic", "original_topic", *_PREDICATES]
    remote = _call(case, "format_remote_topic", case["format_with_source_alias"], case["topic"])
    questions = [remote, *(_call(case, name, case["topic"]) for name in names)]
    names.insert(0, "format_remote_topic")
    return questions, lambda answers: {"expected": dict(zip(names, answers, strict=True))}


def _topic_set(case: Case) -> Recipe:
    topics = case["topics"]
    aliases = filter(None, [case.get("source_alias")])
    question = _call(case, case["function"], *aliases, about="client") | {"topics": topics}

    def ordered(found: Any) -> Any:
        # A set of Java has no order: the question's own, then that of the alphabet.
        if not isinstance(found, list):
            return found
        return sorted(found, key=lambda name: (name in topics and topics.index(name), name))

    return _expect(question, ordered)


def _should_replicate(case: Case) -> Recipe:
    return _expect(
        _policy("should_replicate", case)
        | {"topic": case["topic"], "filter": case["topic_filter"]}
        | {"heartbeats": case["heartbeats_replication_enabled"]}
    )


def _acl(case: Case) -> Recipe:
    question = _policy("acl", case) | {name: case[name] for name in _ACL}
    return _expect(
        question | {"filter": "accepts all"},
        lambda found: found and dict(zip(_ACL, found, strict=True)),
    )


def _offset_syncs(case: Case) -> Recipe:
    settings = _SETTINGS | {
        "source.cluster.alias": case["source_alias"],
        "target.cluster.alias": case["target_alias"],
        "offset-syncs.topic.location": case["location"],
    }
    return _expect(
        {"ask": "offset_syncs", "settings": settings},
        lambda found: dict(zip(("topic", "cluster"), found, strict=True)),
    )


def _tasks(case: Case) -> Recipe:
    partitions = [
        {"topic": topic, "partition": number}
        for topic, count in case["partitions"].items()
        for number in range(count)
    ]
    settings = _SETTINGS | {"source.cluster.alias": "source", "target.cluster.alias": "target"}
    return _expect(
        {"ask": "tasks", "settings": settings, "partitions": partitions, "tasks": case["tasks"]},
        lambda tasks: [task["task.assigned.partitions"].split(",") for task in tasks],
    )


def _flow(case: Case) -> Case:
    return {
        "source": case.get("source_alias", "source"),
        "target": case.get("target_alias", "target"),
    }


_POLICIES: dict[str, Callable[[Case], Recipe]] = {
    "corner_case": _corner_case,
    "predicate": lambda case: _expect(_call(case, case["predicate"], case["topic"])),
    "topic_name": lambda case: _expect(
        _call(case, case["function"], *filter(None, [case["alias"]]))
    ),
    "call": lambda case: _expect(_call(case, case["function"], *case["args"])),
    "offset_syncs_location": _offset_syncs,
    "should_replicate": _should_replicate,
    "count_hops": lambda case: _expect(
        _call(case, "countHopsForTopic", case["topic"], case["source_alias"], about="client")
        | {"topics": []}
    ),
    "topic_set": _topic_set,
    "rename_topic": lambda case: _expect(
        _policy("rename", case) | _flow(case) | {"topic": case["topic"]}
    ),
    "task_assignment": _tasks,
    "acl_sync": _acl,
}


def record_replication_policy(version: str, folder: Path) -> None:
    """Write what the policies, the client and the connectors of MirrorMaker 2 answer."""
    _record("replication_policy", _POLICIES, "AskMirrorMaker", version, folder)


def _vector(case: Case) -> Recipe:
    def written(answers: list[Any]) -> Case:
        key, value = answers[0]
        return {
            **{"key_hex": key, "key_length": len(key) // 2},
            **{"value_hex": value, "value_length": len(value) // 2},
        }

    return [{"ask": "encode", "record": case["record"], "fields": case["fields"]}], written


def _refuse(case: Case) -> Recipe:
    question = {name: case[name] for name in ("record", "key_hex", "value_hex")}
    return [question | {"ask": "decode"}], lambda answers: {"upstream": answers[0]}


def _connect_offsets(case: Case) -> Recipe:
    where = {"topic": "t", "partition": 0, "source": "A", "offset": 12345}

    def replaced(answers: list[Any]) -> Case:
        key, value, rest = answers[0]
        return {"key": key, "value": value} if "key" in case else {"value": rest}

    return [where | {"ask": "connect"}], replaced


def record_mirror_maker_records(version: str, folder: Path) -> None:
    """Write the bytes of MirrorMaker 2's records and of the offsets that Connect keeps for it."""
    recipes = {"vector": _vector, "refuse": _refuse, "json": _connect_offsets}
    _record("mirror_maker_records", recipes, "AskMirrorMaker", version, folder)


def _steps(case: Case) -> Recipe:
    asked: list[Case] = []
    for step in case["steps"]:
        if step["op"] == "sync_range":
            offsets = range(step["from"], step["to"] + 1, step["step"])
            asked += ({"op": "sync", "upstream": n, "downstream": n} for n in offsets)
        else:
            asked.append(step)

    def replaced(answers: list[Any]) -> Case:
        found = iter(answers[0])
        return {
            "steps": [
                step | {"expected": next(found)} if step["op"] == "translate" else step
                for step in case["steps"]
            ]
        }

    return [{"ask": "store", "steps": asked}], replaced


def _checkpoint(case: Case) -> Recipe:
    phase = {"syncs": [case["sync"]], "offsets": [case["group_offset"]]}
    return _expect(
        _flow(case) | {"ask": "tasks", "phases": [phase]},
        lambda found: {key: found[0][key] for key in ("topic", "partition", "upstream", "downstream")},
    )


def _checkpoint_sequence(case: Case) -> Recipe:
    phases = [
        {
            "syncs": [{"upstream": n, "downstream": n} for n in phase["syncs_upstream"]],
            "offsets": [emission["group_offset"] for emission in phase["emissions"]],
        }
        for phase in case["phases"]
    ]

    def replaced(answers: list[Any]) -> Case:
        found = iter(answers[0])

        def emission(asked: Case) -> Case:
            answer = next(found)
            return asked | {"translated": answer["downstream"], "emitted": answer["emitted"]}

        return {
            "phases": [
                phase | {"emissions": [emission(asked) for asked in phase["emissions"]]}
                for phase in case["phases"]
            ]
        }

    return [_flow(case) | {"ask": "tasks", "phases": phases}], replaced


def _emission(case: Case) -> Recipe:
    updates: list[list[int]] = []  # an empty one is a reset
    for phase in case["phases"]:
        updates += [[]] * phase.get("reset_before", False)
        for update in phase["updates"]:
            updates += [[update["upstream"], update["downstream"]]]
            updates += [[]] * phase["reset_after_each"]

    def replaced(answers: list[Any]) -> Case:
        found = iter(answers[0])
        return {
            "phases": [
                phase | {"updates": [one | {"emit": next(found)} for one in phase["updates"]]}
                for phase in case["phases"]
            ]
        }

    return [{"ask": "emission", "lag": case["offset_lag_max"], "updates": updates}], replaced


def record_offset_translation(version: str, folder: Path) -> None:
    """Write what MirrorMaker 2 makes of offset syncs, committed offsets and copied records."""
    recipes = {
        "offset_sync_store": _steps,
        "checkpoint": _checkpoint,
        "checkpoint_sequence": _checkpoint_sequence,
        "sync_emission": _emission,
    }
    _record("offset_translation", recipes, "AskOffsetTranslation", version, folder)


def _record(
    subject: str,
    recipes: dict[str, Callable[[Case], Recipe]],
    program: str,
    version: str,
    folder: Path,
) -> None:
    document = read_cases(subject)
    asked = [
        (case, *recipes[case["kind"]](case))
        for case in document["cases"]
        if case["kind"] in recipes
    ]
    questions = [question for _, several, _ in asked for question in several]
    answers = iter(ask(f"{_PACKAGE}.{program}", questions, version))
    for case, several, replaced in asked:
        case.update(replaced([next(answers) for _ in several]))
    _write(document, list(recipes), version, folder)


def _write(document: Case, kinds: list[str], version: str, folder: Path) -> None:
    first = {"source": document["source"], "recorded": {"kafka": version, "kinds": kinds}}
    write_json(folder / "cases.json", first | {k: v for k, v in document.items() if k not in first})


def record_mirror_maker_properties(version: str, folder: Path) -> None:
    """Write the pairs, settings and defaults that MirrorMaker 2 makes of mm2.properties."""
    document = read_cases("mirror_maker_properties")
    kinds = ["cluster_pairs", "effective_connector_config", "worker_config", "defaults"]
    cases = [case for case in document["cases"] if case["kind"] in kinds]
    texts = [
        "".join(f"{key} = {value}\n" for key, value in case.get("properties", {}).items())
        for case in cases
    ]
    read = [text for text in texts if text]
    answers = ask("AskMirrorConfig", read, version)
    files = iter(answers["files"])
    for case, text in zip(cases, texts, strict=True):
        found = next(files) if text else {}
        if case["kind"] == "cluster_pairs":
            case["expected_count"] = len(found["pairs"])
            case["expected_pairs"] = found["pairs"]
            continue
        if case["kind"] == "defaults":
            # Every connector has the common ones.
            where = case["connector"].replace("common", "heartbeat")
            given = answers["defaults"][where if where == "top" else where.capitalize()]
        elif case["kind"] == "worker_config":
            given = found["workers"][case["flow"]]
        else:
            kind = case["connector"].removeprefix("Mirror").removesuffix("Connector")
            given = found["connectors"][f"{case['flow']} {kind}"]
        case["expected"] = {
            key: _shown(key, given.get(key), before) for key, before in case["expected"].items()
        }
    _write(document, kinds, version, folder)


def _shown(key: str, value: str | None, before: Any) -> Any:
    if isinstance(before, dict) and value is not None:
        return {"value": value, "provenance": before["provenance"]}
    if value is not None and key.endswith((".class", ".reporters", ".converter")):
        return value.rpartition(".")[2]
    return value
