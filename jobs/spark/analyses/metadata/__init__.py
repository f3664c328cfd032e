"""Kinds about a metadata log: its tables, and questions about them in SQL.

In reading order: `metadata_history`, `log_history`, `window`, `isr_moves`, `partition_files`,
`quorum_history`, `time_without_controller`, `isr_churn`, `partition_availability`, `unclean_elections`,
`slowest_shrinks`, `config_changes`, `before_a_moment`, `record_types`.
"""
