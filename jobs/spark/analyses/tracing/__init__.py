"""Kinds of analysis of events that move through topics; `jobs.tracing` has their rules.

Sub-rooms: `following`, `outboxes`, `replaying`.
In reading order: `extracting`, `planning`, `texts`, `slips`, `outbox`, `claim_pointers`, `object_store`,
`claim_checks`, `dead_letters`, `replay_plan`, `redrive`, `tier_reading`, `tiered_reach`.
"""
