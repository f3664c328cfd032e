"""Serializers shared by the APIs of all rooms."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, ClassVar, get_args, get_type_hints

from django.utils import timezone
from rest_framework import serializers

from console.frame.pages.freshness import Freshness
from jobs.near_names import near_name

_OTHER_SHAPES = {
    "not_a_list": "A list is wanted.",
    "not_a_dict": "An object is wanted.",
}


class RenamedChoiceField(serializers.ChoiceField):
    """A choice that reads the words of the last release as well: `before` is old word -> new word."""

    def __init__(self, choices: Any, *, before: Mapping[str, str], **kwargs: Any) -> None:
        self._before = before
        super().__init__(choices, **kwargs)

    def to_internal_value(self, data: Any) -> Any:
        """Return the new word."""
        return super().to_internal_value(
            self._before.get(data, data) if isinstance(data, str) else data
        )

    def to_representation(self, value: Any) -> Any:
        """Return the new word, also of a document that the last release stored."""
        return super().to_representation(self._before.get(value, value))


class AliasField(serializers.CharField):
    """The alias of the cluster of a row."""

    def __init__(self) -> None:
        super().__init__(
            allow_null=True,
            default=None,
            max_length=63,
            help_text="An alias; null for all clusters.",
        )

    def get_attribute(self, instance: Any) -> str | None:
        return instance.cluster.alias if instance.cluster else None


class BodySerializer(serializers.Serializer[Any]):
    """The body of a request, or an object in it. A field that does not exist is refused by name.

    It would decide nothing.
    """

    default_error_messages: ClassVar = {"invalid": "An object is wanted."}
    # The answer that shows the thing which a body changes.
    shown_by: ClassVar[type[serializers.Serializer[Any]] | None] = None

    def get_fields(self) -> dict[str, Any]:
        """Return the fields; what they say of another shape names no type of Python."""
        fields = super().get_fields()
        for one in fields.values():
            inner: Any = one
            while inner is not None:
                inner.error_messages.update(_OTHER_SHAPES)
                inner = getattr(inner, "child", None)
        return fields

    def to_internal_value(self, data: Any) -> Any:
        """Return the values; raises `ValidationError` with all that is wrong."""
        problems: dict[str, Any] = {}
        values: Any = None
        if isinstance(data, Mapping):
            known = {name for name, field in self.fields.items() if not field.read_only}
            unknown = (str(name) for name in data if name not in known)
            problems = {name: [self.unknown_field(name)] for name in sorted(unknown)}
        try:
            values = super().to_internal_value(data)
        except serializers.ValidationError as error:
            if not problems or not isinstance(error.detail, dict):
                raise
            problems = {**error.detail, **problems}
        if problems:
            raise serializers.ValidationError(problems)
        return values

    def unknown_field(self, name: str) -> str:
        """Return the sentence about a field that does not exist."""
        if name in self.fields or (self.shown_by and name in self.shown_by().fields):
            return "It is shown, and cannot be changed. Send only what is to change."
        near = near_name(name, self.fields)
        return f"There is no such field{f'; {near} is meant, probably' if near else ''}."


class ErrorSerializer(serializers.Serializer[Any]):
    """The one shape of errors: `code` for programs, `detail` for people, sentences per field."""

    code = serializers.CharField()
    detail = serializers.CharField()
    fields = serializers.DictField(child=serializers.ListField(child=serializers.CharField()))  # type: ignore[assignment]  # the metaclass takes it before it can hide Serializer.fields


class FreshnessSerializer(serializers.Serializer[Freshness]):
    """How old the rows of one noun are, and why they are not newer."""

    noun = serializers.CharField()
    succeeded_at = serializers.DateTimeField(allow_null=True)
    failing_since = serializers.DateTimeField(allow_null=True)
    error = serializers.CharField()
    hint = serializers.CharField()
    duration_ms = serializers.IntegerField(allow_null=True)
    is_stale = serializers.SerializerMethodField(
        help_text="Too old to act on: rounds fail, never succeeded, or come later than they should."
    )

    def get_is_stale(self, entry: Freshness) -> bool:
        """Return whether the rows are too old to act on."""
        return entry.is_stale(timezone.now())


_FIELDS: dict[Any, Any] = {
    bool: serializers.BooleanField,
    int: serializers.IntegerField,
    float: serializers.FloatField,
    str: serializers.CharField,
}


class PlainSerializer(serializers.Serializer[Any]):
    """The annotated fields of a class but those of `without`, and tuples of them; null where it has None.

    A class in a field has the serializer that is made before for it.
    """

    of: ClassVar[type]
    without: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _FIELDS[cls.of] = cls

    def get_fields(self) -> dict[str, Any]:
        """Return the fields in the order of the class, then what the serializer itself declares."""
        hints = get_type_hints(self.of)
        found = {name: _field(one) for name, one in hints.items() if name not in self.without}
        return found | super().get_fields()


def _field(hint: Any) -> serializers.Field[Any, Any, Any, Any]:
    parts = get_args(hint)
    if ... in parts:
        return serializers.ListField(child=_field(parts[0]))
    kind, is_null = parts[0] if parts else hint, type(None) in parts
    if issubclass(kind, StrEnum):
        choices = [one.value for one in kind]
        return serializers.ChoiceField(choices=choices, allow_null=is_null)
    return _FIELDS[kind](allow_null=is_null)  # type: ignore[no-any-return]  # each is a field
