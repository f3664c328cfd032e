"""Kafka Streams from outside: who runs which task, where the state is, who serves a key.

Sub-rooms: `collection`, `topology`, `lookup`, `rebalances`, `audit`.

In reading order: `observation`, `application`, `bounds`, `from_classic`, `from_streams`,
`stores`, `endpoints`, `assembly`, `answers`, `metadata_state`, `keys`, `lag`, `documents`, `stored`.
"""
