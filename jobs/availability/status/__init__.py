"""States of partitions: severities, their intervals, and roll-ups.

In reading order: `severity`, `min_isr`, `partition_seen`, `interval_tracker`, `spans`, `tally`,
`peaks`, `preferred_leaders`.
"""
