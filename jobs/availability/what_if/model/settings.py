"""Settings of topics and brokers in a cluster that is written down as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from jobs.availability.placements.placement import (
    InvalidPlacement,
    Placement,
    PromotionPolicy,
    parse_placement,
)
from jobs.availability.what_if.model.fields import Fields, Problems, fields_of

SETTING_KEYS = frozenset({
    "min_insync_replicas", "min_isr", "unclean_allowed", "is_unclean_allowed",
    "unclean.leader.election.enable", "policy", "observer_promotion_policy", "promotion_policy", "placement",
    "placement_constraints", "confluent.placement.constraints", "configs", "config", "acted_on",
    "is_acted_on", "limits_min_isr",
})  # fmt: skip
_CONFIG_KEYS = frozenset({"resource_type", "resource_name", "name", "value"})
_LEAST = ("mininsyncreplicas", "minisr")
_UNCLEAN = ("uncleanallowed", "isuncleanallowed", "uncleanleaderelectionenable")
_LIMITS = "limitsminisr"
_DEFAULT_BROKER = frozenset({"", "<default>"})


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """What holds for all partitions of a topic, or of a broker; None: not said."""

    name: str = ""
    placement: Placement | None = None
    policy: PromotionPolicy | None = None
    min_insync_replicas: int | None = None
    is_unclean_allowed: bool | None = None
    is_acted_on: bool | None = None
    limits_min_isr: bool | None = True


class SettingsReader:
    """Reads what a document says of topics and brokers, wherever it says so and in any order."""

    def __init__(self, document: Fields, problems: Problems) -> None:
        self._document = document
        self._problems = problems
        # What `configs` say, by type and name of the resource; "" is every broker.
        self._configs: dict[tuple[str, str], Fields] = {}
        self._of_brokers: dict[str, TopicSettings] = {}
        self._read_configs()

    def _read_configs(self) -> None:
        """Take the configs that `crosslog state --json` tells, in any order: of topics and of brokers."""
        if not isinstance(self._document.get("configs"), list):
            return
        found: dict[tuple[str, str], dict[str, Any]] = {}
        path = self._document.path("configs")
        for index, entry in enumerate(self._document.list_of("configs") or ()):
            one = fields_of(entry, f"{path}[{index}]", self._problems)
            if one is None:
                continue
            one.refuse_near(_CONFIG_KEYS)
            kind, resource = (
                str(one.get("resourcetype")).upper(),
                str(one.get("resourcename") or ""),
            )
            told = found.setdefault((kind, "" if resource in _DEFAULT_BROKER else resource), {})
            name, value = str(one.get("name")), one.get("value")
            if told.setdefault(name, value) != value:
                self._problems.add(one.path("value"), f"{name} is there twice, with two values.")
        for key, settings in found.items():
            where = f"{path}.{key[1]}"
            self._configs[key] = Fields(settings, where, self._problems)
        self._of_brokers = {
            name: self.settings_in(told, TopicSettings())
            for (kind, name), told in self._configs.items()
            if kind == "BROKER"
        }

    def configured(self, topic: str, base: TopicSettings) -> TopicSettings:
        """Return what `configs` say of a topic, over what holds for all."""
        told = self._configs.get(("TOPIC", topic))
        return replace(base if told is None else self.settings_in(told, base), name=topic)

    def of_brokers(self, name: str, replicas: tuple[int, ...]) -> Any:
        """Return a setting as the brokers of these replicas have it; None: not said, or it differs."""
        nothing = TopicSettings()
        common = getattr(self._of_brokers.get("", nothing), name)
        own = [getattr(self._of_brokers.get(str(one), nothing), name) for one in replicas]
        found = {common if one is None else one for one in own}
        return found.pop() if len(found) == 1 else None

    def settings_in(self, told: Fields, base: TopicSettings) -> TopicSettings:
        """Return what an object says of its partitions, over what is said elsewhere."""
        placement = self._placement(told) or base.placement
        least, unclean = self._least(told), self._unclean(told)
        configs = self._configs_in(told)
        if configs is not None:
            configs.refuse_near(SETTING_KEYS)
            placement = self._placement(configs) or placement
            least = self._least(configs) if least is None else least
            unclean = self._unclean(configs) if unclean is None else unclean
        acted_on = told.flag("actedon", "isactedon")
        return TopicSettings(
            name=base.name,
            placement=placement,
            policy=self._policy(told) or base.policy,
            min_insync_replicas=base.min_insync_replicas if least is None else least,
            is_unclean_allowed=base.is_unclean_allowed if unclean is None else unclean,
            is_acted_on=base.is_acted_on if acted_on is None else acted_on,
            limits_min_isr=told.flag(_LIMITS) if told.has(_LIMITS) else base.limits_min_isr,
        )

    def _configs_in(self, told: Fields) -> Fields | None:
        """Return the configs of a topic: an object, or a list of objects with `name` and `value`."""
        configs = told.get("configs", "config")
        if isinstance(configs, list) and told is not self._document:
            configs = self._listed(
                configs, told.path("configs" if told.has("configs") else "config")
            )
        if not isinstance(configs, Mapping):
            return None
        return Fields(
            configs, told.path("configs" if told.has("configs") else "config"), self._problems
        )

    def _listed(self, configs: list[Any], path: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for index, value in enumerate(configs):
            one = fields_of(value, f"{path}[{index}]", self._problems)
            name = one.refuse_near(_CONFIG_KEYS).text("name") if one is not None else None
            if one is None or name is None:
                self._problems.add(f"{path}[{index}]", "The name of a setting is wanted.")
            elif found.setdefault(name, one.get("value")) != one.get("value"):
                self._problems.add(one.path("value"), f"{name} is there twice, with two values.")
        return found

    def _least(self, told: Fields) -> int | None:
        return told.agree(*_LEAST).number(*_LEAST, least=1)

    def _unclean(self, told: Fields) -> bool | None:
        return told.agree(*_UNCLEAN).flag(*_UNCLEAN)

    def _policy(self, told: Fields) -> PromotionPolicy | None:
        names = ("policy", "observerpromotionpolicy", "promotionpolicy")
        text = told.text(*names)
        if text is None:
            return None
        try:
            return PromotionPolicy(text)
        except ValueError:
            path = told.path(next(name for name in names if told.get(name) is not None))
            known = ", ".join(one.value for one in PromotionPolicy)
            self._problems.add(path, f"There is no policy {text!r}; there are {known}.")
            return None

    def _placement(self, told: Fields) -> Placement | None:
        names = ("placement", "placementconstraints", "confluentplacementconstraints")
        value = told.get(*names)
        if value is None or value == "":
            return None
        path = told.path(next(name for name in names if told.get(name) is not None))
        if not isinstance(value, str | Mapping):
            self._problems.add(path, "A placement is an object, or its text.")
            return None
        try:
            return parse_placement(value)
        except InvalidPlacement as error:
            for inner, sentence in error.problems.items():
                self._problems.add(f"{path}.{inner}" if inner else path, sentence)
            return None
