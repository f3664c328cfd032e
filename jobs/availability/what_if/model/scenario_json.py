"""Steps that are written down beside a cluster, as in tests/conformance/placements. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobs.availability.what_if.model.cluster import InvalidCluster
from jobs.availability.what_if.model.fields import Fields, Problems, fields_of
from jobs.availability.what_if.steps import Loss, PreferredElection, Return, Step, UncleanElection

_KEYS = frozenset({
    "name", "event", "unclean_election", "preferred_election", "fail_brokers", "fail_rack", "fail_racks",
    "fail_controllers", "return_brokers", "return_rack", "return_racks", "return_controllers",
})  # fmt: skip


def steps_of(document: Any) -> tuple[Step, ...]:
    """Return the `steps` of a document, none without; raises `InvalidCluster`.

    Each has an `event`, or is one: `steady`, or an object with `fail_brokers`, `fail_racks` (or `fail_rack`),
    `fail_controllers`, the same with `return_`, `unclean_election` or `preferred_election` (true or a topic).
    """
    problems = Problems()
    told = document.get("steps") if isinstance(document, Mapping) else None
    found: list[Step] = []
    for index, one in enumerate(told if isinstance(told, list) else ()):
        path = f"steps[{index}]"
        event = one["event"] if isinstance(one, Mapping) and "event" in one else one
        step = Loss(name="steady") if event == "steady" else _step(event, path, problems)
        if step is not None:
            found.append(step)
    if problems.found:
        raise InvalidCluster(problems.found)
    return tuple(found)


def _step(event: Any, path: str, problems: Problems) -> Step | None:
    told = fields_of(event, path, problems)
    if told is None:
        return None
    name = told.refuse_near(_KEYS).text("name") or ""
    for key, kind in (
        ("uncleanelection", UncleanElection),
        ("preferredelection", PreferredElection),
    ):
        asked = told.get(key)
        if asked:
            return kind(asked if isinstance(asked, str) else None, name)
    for verb, make in (("fail", Loss), ("return", Return)):
        brokers, controllers = _ids(told, f"{verb}brokers"), _ids(told, f"{verb}controllers")
        racks = _racks(told, verb, problems)
        if brokers or racks or controllers:
            return make(brokers=brokers, racks=racks, controllers=controllers, name=name)
    problems.add(
        path, "Nothing that is known happens here: fail_brokers, fail_rack, ... are wanted."
    )
    return None


def _ids(told: Fields, name: str) -> frozenset[int]:
    return frozenset(told.numbers(name) or ())


def _racks(told: Fields, verb: str, problems: Problems) -> frozenset[str]:
    value = told.get(f"{verb}rack", f"{verb}racks")
    racks = [value] if isinstance(value, str) else value or []
    if not isinstance(racks, list) or not all(isinstance(one, str) for one in racks):
        problems.add(told.path(f"{verb}racks"), "Names of racks are wanted.")
        return frozenset()
    return frozenset(racks)
