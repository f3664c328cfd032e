"""crosslog's own connections: requests of all kinds, whole record batches in and out, and transactions.

asyncio; a copier has its own event loop, all other questions of a process share one (`kept_connections`).
The protocol's messages come from `kio`, which only this folder and `jobs.cluster.admin` import; the two
messages that carry record batches have their own form here, so that no batch is copied on its way through
Python.

Sub-rooms: `transport`, `data`, `groups`.

In reading order: `cluster`, `kept_connections`, `metadata`, `leaders`, `pieces`, `coordinator`, `errors`.
"""
