"""Collection of availability: partition changes from the metadata log or from polls.

In reading order: `collect`, `from_log`, `from_poll`, `status_writer`, `status_rows`, `open_intervals`,
`rollup_writer`, `min_isr_settings`, `observer_roles`, `lag`, `retention`, `receivers`.
"""
