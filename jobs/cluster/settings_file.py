"""Settings written in YAML, read without trusting them: plain values under names, each name once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import yaml

from jobs.cluster.errors import InvalidFields

MOST_BYTES = 1024 * 1024
MOST_VALUES = 20_000
FILE = "file"


def read_text(path: Path, kind: str) -> str:
    """Return the text of a file of settings; raises `InvalidFields` with the field `file`.

    `kind` is what the file describes, for people: "flow".
    """
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InvalidFields({FILE: f"It cannot be read: {error.strerror}."}) from None
    if len(content) > MOST_BYTES:
        raise InvalidFields(
            {FILE: f"It is larger than {MOST_BYTES} bytes: no {kind} needs that much."}
        )
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidFields({FILE: f"Byte {error.start} is not UTF-8."}) from None


def parse_settings(text: str, form: str) -> Mapping[str, object]:
    """Read settings from YAML; raises `InvalidFields` with the line and column at fault.

    `form` is the sentence for a text that is no mapping.
    """
    values = _load(text)
    if not isinstance(values, Mapping):
        raise InvalidFields({FILE: form})
    strange = [key for key in values if not isinstance(key, str)]
    if strange:
        raise InvalidFields({FILE: f"{strange[0]!r} is not the name of a setting."})
    return values


class BoundedLoader(yaml.SafeLoader):
    """Refuses aliases, which could grow without end, and more values than settings need, as they come."""

    values = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Take the next value; raises MarkedYAMLError."""
        mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
        if self.check_event(yaml.AliasEvent):
            raise yaml.MarkedYAMLError(problem="aliases are not allowed", problem_mark=mark)
        self.values += 1
        if self.values > MOST_VALUES:
            problem = f"more than {MOST_VALUES:,} names and values are not read"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=mark)
        node: yaml.Node | None = super().compose_node(parent, index)
        return node


class _StrictLoader(BoundedLoader):
    """Plain values only; a key twice is a mistake and not a choice.

    Tags would make other values of texts, and PyYAML fails on many that do not fit.
    """

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if getattr(event, "tag", None) is not None:
            raise yaml.MarkedYAMLError(
                problem="tags are not allowed", problem_mark=event.start_mark
            )
        node = super().compose_node(parent, index)
        if isinstance(node, yaml.MappingNode):
            _refuse_repeated_keys(node)
        return node


def _refuse_repeated_keys(node: yaml.MappingNode) -> None:
    seen = set()
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise yaml.MarkedYAMLError(
                problem="a list or a mapping is no key", problem_mark=key.start_mark
            )
        if key.value in seen:
            raise yaml.MarkedYAMLError(
                problem=f"{key.value} is given twice", problem_mark=key.start_mark
            )
        seen.add(key.value)


def _load(text: str) -> object:
    try:
        return yaml.load(text, Loader=_StrictLoader)  # noqa: S506  a SafeLoader, only stricter
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"Line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise InvalidFields({FILE: f"{where}{error.problem or error.context}."}) from None
    except yaml.YAMLError as error:
        raise InvalidFields({FILE: f"It is not YAML: {error}."}) from None
    except RecursionError:
        raise InvalidFields({FILE: "It is nested too deeply."}) from None
    except (ValueError, OverflowError):
        raise InvalidFields({FILE: "It holds a date or a number that does not exist."}) from None
