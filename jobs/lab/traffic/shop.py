"""The records of the lab's traffic: a small shop. Pure, and the same for the same seed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from jobs.cluster.admin.topics import NewTopicSpec

# As the client library spells it; a lab writes bytes and absent values only.
Headers = list[tuple[str, str | bytes | None]]

TOPICS: Mapping[str, NewTopicSpec] = {
    "orders": NewTopicSpec(6),
    "payments": NewTopicSpec(3),
    "clicks": NewTopicSpec(4, configs={"retention.ms": str(24 * 3600 * 1000)}),
    # Segments roll every minute so that compaction really happens while somebody watches.
    "customers": NewTopicSpec(
        2,
        configs={
            "cleanup.policy": "compact",
            "segment.ms": "60000",
            "min.cleanable.dirty.ratio": "0.1",
            "delete.retention.ms": "300000",
        },
    ),
}
# Of all records per second; they add up to 1.
SHARES: Mapping[str, float] = {"clicks": 0.5, "orders": 0.3, "payments": 0.15, "customers": 0.05}

_CUSTOMERS = 500
# One customer has so much of the orders: a hot key.
HOT_CUSTOMER = b"customer-0007"
HOT_SHARE = 0.4
_PRODUCTS = 40
_TOMBSTONES = 0.1
_PAGES = ("/", "/cart", "/search", "/offers", "/help")
_COUNTRIES = ("DE", "FR", "IT", "PL", "SE")


@dataclass(frozen=True, slots=True)
class ShopRecord:
    """A record to write; `value` None is a tombstone, `key` None leaves the partition to chance."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers = field(default_factory=list)


class Shop:
    """Makes the records of each topic, one after the other."""

    def __init__(self, seed: int = 1) -> None:
        # Each topic draws from its own source, so that the order between topics does not matter.
        self._random = {topic: random.Random(f"{seed}:{topic}") for topic in TOPICS}  # noqa: S311  no secrets
        self._count = dict.fromkeys(TOPICS, 0)
        self._makers: dict[str, Callable[[random.Random, int], ShopRecord]] = {
            "orders": _order,
            "payments": _payment,
            "clicks": _click,
            "customers": _customer,
        }

    def next(self, topic: str) -> ShopRecord:
        self._count[topic] += 1
        return self._makers[topic](self._random[topic], self._count[topic])


def _order(source: random.Random, number: int) -> ShopRecord:
    items, total = source.randint(1, 9), source.randint(100, 99_999)
    product = f"product-{number % _PRODUCTS:02}"
    value = {"order": number, "product": product, "items": items, "total": total}
    # A repeated name, an empty and an absent value: what a copy must keep as it is.
    headers: Headers = [("trace-id", source.randbytes(8)), ("source", b"web")]
    if number % 10 == 0:
        headers += [("attempt", b"1"), ("attempt", b"2"), ("note", b""), ("coupon", None)]
    key = HOT_CUSTOMER if source.random() < HOT_SHARE else _customer_key(source)
    return ShopRecord("orders", key, json_bytes(value), headers)


def _payment(source: random.Random, number: int) -> ShopRecord:
    value = {"payment": number, "amount": source.randint(100, 99_999), "method": "card"}
    return ShopRecord("payments", f"payment-{number % 1000:04}".encode(), json_bytes(value))


def _click(source: random.Random, number: int) -> ShopRecord:
    value = {"click": number, "page": source.choice(_PAGES), "session": source.randint(1, 10_000)}
    return ShopRecord("clicks", None, json_bytes(value))


def _customer(source: random.Random, number: int) -> ShopRecord:
    key = _customer_key(source)
    if source.random() < _TOMBSTONES:
        return ShopRecord("customers", key, None)
    value = {
        "change": number,
        "country": source.choice(_COUNTRIES),
        "points": source.randint(0, 999),
    }
    return ShopRecord("customers", key, json_bytes(value))


def _customer_key(source: random.Random) -> bytes:
    return f"customer-{source.randrange(_CUSTOMERS):04}".encode()


def json_bytes(value: Mapping[str, object]) -> bytes:
    """Return the value of a record: JSON without spaces."""
    return json.dumps(value, separators=(",", ":")).encode()
