"""Kinds of analysis of events that move through topics; `jobs.tracing` has their rules.

In reading order: `extracting`, `slips`, `slip_plan`, `slip_events`, `slip_rows`;
`tier_reading`, `tiered_reach`; `letters`, `dead_letters`, `letter_groups`; `replay_plan`, `replay_sources`;
`redrive`, `resending`.
"""
