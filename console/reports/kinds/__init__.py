"""What reports are built from: reads of all rooms, for the person in whose name a report is made.

In reading order: `asked`, `registry`, `objectives`, `checkpoint_samples`, `copy_audits`,
`disaster_recovery`, `replication`, `replication_events`, `availability`, `partition_records`, `isr_records`,
`quorum`, `broker_records`, `audit_trail`.
"""
