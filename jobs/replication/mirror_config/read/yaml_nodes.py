"""YAML as plain values that remember their lines; only what a Kubernetes resource needs. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import yaml

from jobs.cluster.settings_file import BoundedLoader
from jobs.replication.mirror_config.read.text_input import BadInput, template_error

MOST_DOCUMENTS = 50


@dataclass(frozen=True, slots=True)
class Leaf:
    """A scalar as text, with its line from 1; None for null."""

    text: str | None
    line: int


Node = Leaf | list["Node"] | dict[str, "Node"]


def read_documents(file: str, text: str) -> Iterator[Node]:
    """Yield the documents of a file; raises `BadInput` with line and column."""
    try:
        for number, document in enumerate(yaml.compose_all(text, Loader=BoundedLoader)):
            if number >= MOST_DOCUMENTS:
                raise BadInput(file, f"It has more than {MOST_DOCUMENTS} documents.")
            if document is not None:
                yield _plain(file, document)
    except (yaml.YAMLError, RecursionError) as error:
        raise template_error(file, text) or _not_yaml(file, error) from None


def _not_yaml(file: str, error: Exception) -> BadInput:
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        where = f"Line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        return BadInput(file, f"{where}{error.problem or error.context}.")
    return BadInput(file, "It is not YAML.")


def _plain(file: str, node: yaml.Node) -> Node:
    if isinstance(node, yaml.MappingNode):
        found: dict[str, Node] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.MarkedYAMLError(
                    problem="a key must be a text", problem_mark=key.start_mark
                )
            if key.value in found:
                raise BadInput(file, f"Line {line}: {key.value} is given twice.")
            found[key.value] = _plain(file, value)
        return found
    if isinstance(node, yaml.SequenceNode):
        return [_plain(file, one) for one in node.value]
    return _leaf(node)


def _leaf(node: yaml.Node) -> Leaf:
    text = str(node.value)
    line = node.start_mark.line + 1
    if node.tag == "tag:yaml.org,2002:null":
        return Leaf(None, line)
    if node.tag == "tag:yaml.org,2002:bool":
        return Leaf("true" if text.lower() in {"true", "yes", "on"} else "false", line)
    return Leaf(text, line)


def leaves(node: Node) -> Iterator[Leaf]:
    """Yield every scalar of a node, in the order of the file."""
    if isinstance(node, Leaf):
        yield node
    else:
        for one in node.values() if isinstance(node, dict) else node:
            yield from leaves(one)


def mapping(node: Node | None) -> Mapping[str, Node]:
    """Return a mapping; an empty one for anything else."""
    return node if isinstance(node, dict) else {}


def sequence(node: Node | None) -> list[Node]:
    """Return a list; an empty one for anything else."""
    return node if isinstance(node, list) else []


def text_of(node: Node | None) -> str:
    """Return a scalar's text; "" for anything else."""
    return node.text or "" if isinstance(node, Leaf) else ""
