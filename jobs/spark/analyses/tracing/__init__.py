"""Kinds about events that move through topics, by what extractors find in their records.

In reading order: `extracting`; `slips`, `slip_plan`, `slip_events`, `slip_rows`.
"""
