"""Read connectors of Kafka Connect in JSON, in every shape that Connect itself answers or takes. Pure."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from jobs.json_text import BadJson, parse_json
from jobs.replication.mirror_config.naming import SOURCE_ALIAS
from jobs.replication.mirror_config.read.connectors import (
    aliases_of,
    bootstrap_of,
    class_of,
    connector_of,
    flow_of,
    group_connectors,
    pairs_by_alias,
)
from jobs.replication.mirror_config.read.text_input import (
    BadInput,
    InputFile,
    decode_utf8,
    template_error,
)
from jobs.replication.mirror_config.redaction import redact
from jobs.replication.mirror_config.values import (
    Connector,
    Deployment,
    Entry,
    Finding,
    Form,
    Severity,
    Value,
    written,
)

MOST_CONNECTORS = 500
_HALF = re.compile("[\ud800-\udfff]")
_WANTED = (
    'A connector is {"name": ..., "config": {...}}, its configuration alone, a list of them, or the answer '
    "of /connectors?expand=info."
)


def read_connect(file: InputFile, content: bytes) -> Deployment:
    """Read connectors in JSON; raises `BadInput`."""
    named = list(_connectors(file, _load(file, content)))
    if len(named) > MOST_CONNECTORS:
        raise BadInput(file.name, f"It has more than {MOST_CONNECTORS} connectors.")
    return read_connectors(file.name, named)


def read_connectors(file: str, named: list[tuple[str, list[Entry]]]) -> Deployment:
    """Return the flows of connectors, by name; raises `BadInput` when none is MirrorMaker 2's."""
    found, others = [], []
    for name, entries in named:
        values = {entry.key: written(entry) for entry in entries}
        connector = _mirror_connector(name, values)
        found.append(connector) if connector else others.append(_other(file, name))
    if not found:
        raise BadInput(
            file, f"None of its {len(named)} connectors is one of MirrorMaker 2's. {_WANTED}"
        )
    flows = [
        flow_of(group, file, Form.CONNECT) for group in group_connectors(pairs_by_alias(found))
    ]
    return Deployment(
        file=file,
        form=Form.CONNECT,
        entries=tuple(entry for _, entries in named for entry in entries),
        clusters=aliases_of(flows),
        pairs=tuple((flow.source, flow.target) for flow in flows),
        flows=tuple(flows),
        bootstrap=bootstrap_of(flows),
        findings=(*others, *(_no_alias(file, c) for c in found if SOURCE_ALIAS not in c.config)),
    )


def _mirror_connector(name: str, values: Mapping[str, Value]) -> Connector | None:
    kind = class_of(values["connector.class"].value) if "connector.class" in values else None
    return None if kind is None else connector_of(name, kind, values)


def _other(file: str, name: str) -> Finding:
    return Finding(
        "other-connector",
        Severity.INFO,
        f"Connector {name} is none of MirrorMaker 2's and is left out.",
        "Nothing.",
        f"{file} {name}",
    )


def _no_alias(file: str, connector: Connector) -> Finding:
    return Finding(
        "alias-missing",
        Severity.ERROR,
        f"Connector {connector.name} has no {SOURCE_ALIAS}, without which it does not start.",
        f"Set {SOURCE_ALIAS}.",
        f"{file} {connector.name}",
        SOURCE_ALIAS,
    )


def _load(file: InputFile, content: bytes) -> object:
    text = decode_utf8(file, content)
    repeated: list[str] = []

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        kept = dict(found)
        if len(kept) < len(found):
            repeated.append(Counter(key for key, _ in found).most_common(1)[0][0])
        return kept

    try:
        value: object = parse_json(text, pairs)
    except BadJson as error:
        raise template_error(file.name, text) or BadInput(file.name, f"{error} {_WANTED}") from None
    if _HALF.search(json.dumps(value, ensure_ascii=False)):
        raise BadInput(
            file.name, "It holds half of a surrogate pair (\\ud800 to \\udfff): no text."
        )
    if repeated:
        raise BadInput(file.name, f"The key {repeated[0]} occurs twice in one object.")
    return value


def _connectors(file: InputFile, value: object) -> Iterator[tuple[str, list[Entry]]]:
    """Yield name and settings of every connector, whatever it is wrapped in."""
    for one in value if isinstance(value, list) else [value]:
        yield from _wrapped(file, one)


def _wrapped(file: InputFile, value: object) -> Iterator[tuple[str, list[Entry]]]:
    if not isinstance(value, Mapping):
        raise BadInput(file.name, _WANTED)
    elif isinstance(value.get("config"), Mapping):
        config = value["config"]
        name = _name(value.get("name") or config.get("name"))
        yield name, _entries(file, name, config)
    elif "connector.class" in value:
        name = _name(value.get("name"))
        yield name, _entries(file, name, value)
    else:
        for name, one in value.items():
            yield from _expanded(file, name, one)


def _name(value: object) -> str:
    return value if isinstance(value, str) and value else "connector"


def _expanded(file: InputFile, name: str, one: object) -> Iterator[tuple[str, list[Entry]]]:
    info = one.get("info", one) if isinstance(one, Mapping) else None
    if not isinstance(info, Mapping) or not isinstance(info.get("config"), Mapping):
        raise BadInput(file.name, f"At {name[:100]}: {_WANTED}")
    yield name, _entries(file, name, info["config"])


def _entries(file: InputFile, name: str, config: Mapping[str, object]) -> list[Entry]:
    found = []
    for key, value in config.items():
        if value is None:
            continue
        if isinstance(value, (Mapping, list)):
            raise BadInput(
                file.name, f"{name}: {key} is an object or a list; a setting is one value."
            )
        text = str(value).lower() if isinstance(value, bool) else str(value)
        shown, is_secret = redact(key, text)
        found.append(Entry(key, shown, file.name, None, name, is_secret))
    return found
