"""Kinds of analysis of events that move through topics; `jobs.tracing` has their rules.

In reading order: `extracting`, `planning`, `texts`; `slip_plan`, `slip_events`, `slip_rows`, `slips`;
`outbox_events`, `outbox_judging`, `outbox`; `claim_pointers`, `object_store`, `claim_checks`;
`tier_reading`, `tiered_reach`.
"""
