"""Read mm2.properties, or the properties of a single connector of a standalone worker. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from jobs.replication.mirror_config.read.dedicated import (
    Settings,
    as_read,
    cluster_pairs,
    is_enabled,
    read_flow,
)
from jobs.replication.mirror_config.read.properties import (
    BadProperties,
    Line,
    read_properties,
)
from jobs.replication.mirror_config.read.text_input import BadInput, InputFile, template_error
from jobs.replication.mirror_config.redaction import redact
from jobs.replication.mirror_config.values import (
    Deployment,
    Entry,
    Finding,
    Form,
    Pair,
    Severity,
)

MOST_SETTINGS = 5000
MOST_CLUSTERS = 50
MOST_FLOWS = 200
# Settings times flows: each flow has an effective value of nearly every setting.
MOST_VALUES = 100_000
# Up to here every pair is worked out, also those that only send heartbeats.
FEW_PAIRS = 30


def read_entries(file: InputFile, content: bytes) -> list[Entry]:
    """Return the settings of a .properties file, secrets redacted; raises `BadInput`.

    Bytes are taken as ISO-8859-1, as Kafka does.
    """
    try:
        lines = read_properties(content.decode("iso-8859-1"))
    except BadProperties as error:
        raise BadInput(file.name, f"{error}.") from None
    if len(lines) > MOST_SETTINGS:
        raise BadInput(file.name, f"It has more than {MOST_SETTINGS} settings.")
    for line in lines:
        is_program = "transforms." in line.key or "predicates." in line.key
        template = template_error(file.name, f"{line.key}={line.value}", line.number)
        if template is not None and not is_program:
            raise template
    return [_entry(file.name, line) for line in lines]


def _entry(file: str, line: Line) -> Entry:
    shown, is_secret = redact(line.key, line.value)
    return Entry(line.key, shown, file, line.number, "", is_secret)


def read_dedicated(file: InputFile, content: bytes, wanted: Pair | None = None) -> Deployment:
    """Read mm2.properties; `wanted` is a pair to work out in any case; raises `BadInput`."""
    entries = read_entries(file, content)
    settings = Settings(entries)
    clusters = settings.clusters()
    if not clusters:
        raise BadInput(
            file.name,
            "It has no `clusters = ...`, so it is no mm2.properties; nor is it JSON of Connect connectors "
            "or a KafkaMirrorMaker2 resource in YAML.",
        )
    if len(clusters) > MOST_CLUSTERS:
        raise BadInput(file.name, f"It names {len(clusters)} clusters, more than {MOST_CLUSTERS}.")
    pairs = cluster_pairs(settings)
    chosen = _chosen(settings, pairs, wanted)
    if len(chosen) > MOST_FLOWS:
        raise BadInput(file.name, f"It enables {len(chosen)} flows, more than {MOST_FLOWS}.")
    if len(chosen) * len(entries) > MOST_VALUES:
        raise BadInput(
            file.name,
            f"{len(entries)} settings for {len(chosen)} flows are more than can be explained at once. "
            "Split the file.",
        )
    values = {alias: as_read(settings.of_cluster(alias)) for alias in clusters}
    return Deployment(
        file=file.name,
        form=Form.PROPERTIES,
        entries=tuple(entries),
        clusters=tuple(clusters),
        pairs=tuple(pairs),
        flows=tuple(read_flow(settings, pair, file.name) for pair in chosen),
        bootstrap={
            a: v["bootstrap.servers"] for a, v in values.items() if "bootstrap.servers" in v
        },
        findings=(*_repeated(entries), *_not_ascii(file.name, content)),
    )


def _chosen(settings: Settings, pairs: Iterable[Pair], wanted: Pair | None) -> list[Pair]:
    pairs = list(pairs)
    few = len(pairs) <= FEW_PAIRS
    chosen = [pair for pair in pairs if few or is_enabled(settings, pair) or pair == wanted]
    known = settings.clusters()
    if wanted is not None and wanted not in chosen and set(wanted) <= set(known):
        chosen.append(wanted)
    return chosen


def _repeated(entries: Iterable[Entry]) -> list[Finding]:
    seen: dict[str, Entry] = {}
    found = []
    for entry in entries:
        before = seen.get(entry.key)
        if before is not None:
            found.append(
                Finding(
                    "key-twice",
                    Severity.WARNING,
                    f"{entry.key} is set in line {before.line} and again in line {entry.line}: the last "
                    "one counts.",
                    f"Delete line {before.line}, or the other one.",
                    entry.where,
                    entry.key,
                )
            )
        seen[entry.key] = entry
    return found


def _not_ascii(file: str, content: bytes) -> list[Finding]:
    for number, line in enumerate(content.split(b"\n"), start=1):
        if not line.isascii() and not line.lstrip().startswith((b"#", b"!")):
            return [
                Finding(
                    "not-ascii",
                    Severity.WARNING,
                    f"Line {number} holds letters beyond ASCII: Kafka reads the file as ISO-8859-1, so they "
                    "are other letters than in an editor that shows UTF-8.",
                    "Write them as \\uXXXX.",
                    f"{file}:{number}",
                )
            ]
    return []
