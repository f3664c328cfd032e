"""How partitions stand and stood: one ladder of severities, how long each held, and roll-ups.

In reading order: `severity`, `min_isr`, `partition_seen`, `interval_tracker`, `spans`, `tally`,
`peaks`, `preferred_leaders`.
"""
