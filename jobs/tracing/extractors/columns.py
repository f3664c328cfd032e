"""What an extractor finds in the records of a chunk, as columns: the fast twin of `plain.extract`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import orjson

from jobs.tracing.extractors.extractor import Extractor
from jobs.tracing.extractors.fields import Field, Place
from jobs.tracing.extractors.forms import BadValue, Value
from jobs.tracing.extractors.plain import Decode, document_of, in_role, read_form
from jobs.tracing.extractors.roles import ROLES, RoleType
from jobs.tracing.extractors.slices import Codebook, Slices, absent, distinct, mapped, slices_of
from jobs.wire.rebatch.columns import RecordColumns, header_slices
from jobs.wire.rebatch.table import Int64s

# A number or time that is absent.
ABSENT = -(2**63)


class Extraction:
    """The roles of records of one topic, each found when it is wanted first.

    `problems` counts sentences about values that could not be read, as "id: It is no JSON.". It holds as
    long as the body of the records does.
    """

    def __init__(
        self,
        extractor: Extractor,
        records: RecordColumns,
        topic: str,
        partition: int,
        decode: Decode | None = None,
    ) -> None:
        self._extractor, self._records, self._decode = extractor, records, decode
        self._place = {Place.TOPIC: topic, Place.PARTITION: str(partition)}
        fields = [one for found in extractor.fields.values() for one in found]
        names = {one.name: None for one in fields if one.place is Place.HEADER}
        self._headers = header_slices(records, list(names))
        self._documents = dict[Place, Mapping[tuple[str, Field], tuple[Slices, Counter[str]]]]()
        self._kept: dict[str, Slices] = {}
        self.problems: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._records)

    def texts(self, role: str) -> Slices:
        """Return the text of each record; a list is a JSON list of texts."""
        if role not in self._kept:
            found, problems = absent(len(self)), Counter[str]()
            for one in self._extractor.fields.get(role, ()):
                if bool(found.is_present.all()):
                    break
                found = found.or_else(self._of_field(one, role, problems))
            self._keep(role, found, problems, len(self) - int(found.is_present.sum()))
        return self._kept[role]

    def codes(self, role: str, book: Codebook) -> Int64s:
        """Return the code of each record's text, -1: absent."""
        return book.codes(self.texts(role))

    def numbers(self, role: str) -> Int64s:
        """Return the number or time (Unix ms) of each record, ABSENT where there is none.

        The time of a record is its timestamp unless the extractor says otherwise.
        """
        if role == "time" and not self._extractor.has(role):
            return np.where(self._records.times >= 0, self._records.times, ABSENT)
        texts = self.texts(role)
        codes, firsts = distinct(texts.hashes())
        values = [int(texts.raw(int(one)) or ABSENT) for one in firsts]
        return np.array(values, np.int64)[codes] if values else np.zeros(0, np.int64)

    def _keep(self, role: str, found: Slices, problems: Counter[str], missing: int) -> None:
        self._kept[role] = found
        for sentence, count in problems.items():
            if missing:
                self.problems[f"{role}: {sentence}"] += min(count, missing)

    def _of_field(self, one: Field, role: str, problems: Counter[str]) -> Slices:
        if one.pointer is not None and one.place in {Place.KEY, Place.VALUE}:
            found, told = self._of_documents(one.place)[role, one]
            problems.update(told)
            return found
        raw = self._raw(one)
        if one.pointer is None and _is_text(one, role):
            return Slices(raw.body, raw.at, np.where(raw.sizes == 0, -1, raw.sizes))
        return mapped(raw, self._reader(one, role, problems))

    def _reader(
        self, one: Field, role: str, problems: Counter[str]
    ) -> Callable[[bytes], bytes | None]:
        def read(raw: bytes) -> bytes | None:
            value: Any = raw
            if one.place in {Place.PARTITION, Place.OFFSET, Place.TIMESTAMP}:
                value = int(raw)
            elif one.place in {Place.TOPIC, Place.CONST}:
                value = raw.decode()
            elif one.pointer is not None:
                try:
                    value = one.pick(document_of(raw, self._decode))
                except BadValue as problem:
                    problems[str(problem)] += 1
                    return None
            return _canonical(one, role, problems, value)

        return read

    def _raw(self, one: Field) -> Slices:
        """Return the bytes at a place."""
        records = self._records
        match one.place:
            case Place.HEADER:
                return Slices(records.body, *self._headers[one.name])
            case Place.KEY:
                return Slices(records.body, records.key_at, records.key_bytes)
            case Place.VALUE:
                return Slices(records.body, records.value_at, records.value_bytes)
            case Place.OFFSET:
                return slices_of(b"%d" % number for number in records.offsets)
            case Place.TIMESTAMP:
                times = records.times
                return slices_of(None if number < 0 else b"%d" % number for number in times)
            case _:
                text = (one.name or self._place.get(one.place, "")).encode()
                count = len(records)
                return Slices(text, np.zeros(count, np.int64), np.full(count, len(text)))

    def _of_documents(
        self, place: Place
    ) -> Mapping[tuple[str, Field], tuple[Slices, Counter[str]]]:
        """Return what all pointers into a place find; documents are not kept: many of them are slow."""
        if place in self._documents:
            return self._documents[place]
        raw = self._raw(Field(place))
        body, bad = memoryview(raw.body), Counter[str]()
        roles = self._extractor.fields
        columns = {
            (role, one): (one.pick, _kept_reader(one, role, told), list[bytes | None](), told)
            for role, fields in roles.items()
            for one in fields
            if one.place is place and one.pointer is not None
            for told in [Counter[str]()]
        }
        for at, end in zip(raw.at.tolist(), (raw.at + raw.sizes).tolist(), strict=True):
            document = None
            if end >= at:
                try:
                    document = document_of(body[at:end], self._decode)
                except BadValue as problem:
                    bad[str(problem)] += 1
            for pick, read, texts, _ in columns.values():
                texts.append(None if document is None else read(pick(document)))
        self._documents[place] = {
            key: (slices_of(texts), told + bad) for key, (_, _, texts, told) in columns.items()
        }
        return self._documents[place]


def _is_text(one: Field, role: str) -> bool:
    return one.form == "text" and ROLES[role].type is RoleType.TEXT


def _kept_reader(one: Field, role: str, problems: Counter[str]) -> Callable[[Any], bytes | None]:
    """Return what makes texts of JSON values; of lists that come again it is what it was before."""
    is_text, kept = _is_text(one, role), dict[tuple[str, ...], bytes | None]()

    def read(value: Any) -> bytes | None:
        if type(value) is str and is_text:
            return value.encode("utf-8", "replace") or None
        if type(value) is not list or not all(type(part) is str for part in value):
            return None if value is None else _canonical(one, role, problems, value)
        key = tuple(value)
        if (found := kept.get(key)) is None:
            found = kept[key] = _canonical(one, role, problems, value)
        return found

    return read


def _canonical(one: Field, role: str, problems: Counter[str], raw: Any) -> bytes | None:
    """Return a value as texts have it: UTF-8; of a list JSON; of a number its digits."""
    try:
        value: Value = in_role(role, read_form(one, role, raw))
    except BadValue as problem:
        problems[str(problem)] += 1
        return None
    if value is None:
        return None
    return orjson.dumps(value) if isinstance(value, list) else str(value).encode()
