"""Reports of flows.

In reading order: `disaster_recovery`, `recovery`, `recovery_tables`, `readiness`, `sampling`, `replication`,
`replication_data`, `replication_tables`, `lag_samples`, `copy_audits`.
"""
