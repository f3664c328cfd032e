"""crosslog's own connections for the copy engine: whole record batches in and out, and transactions.

asyncio, one event loop, no threads of our own. The protocol's messages come from `kio`, which
nothing outside this folder imports; the two messages that carry record batches have their own form
here, so that no batch is copied on its way through Python.

Sub-rooms: `transport`, `data`, `groups`, `admin`.

In reading order: `cluster`, `metadata`, `metadata_propagation`, `leaders`, `coordinator`,
`controllers`, `bootstrap_ids`, `errors`.
"""
