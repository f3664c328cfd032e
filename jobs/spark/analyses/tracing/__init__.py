"""Analyses of events that move through topics, found by extractors.

In reading order: `extracting`, `planning`, `texts`, `outbox_events`, `outbox_judging`, `outbox`,
`claim_pointers`, `object_store`, `claim_checks`.
"""
