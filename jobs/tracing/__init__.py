"""Events that move through topics: what of records identifies a piece of work, and what became of it.

Sub-rooms: `extractors`, `slips`.
In reading order: `digests`, `outbox`, `claims`, `tiers`.
"""
