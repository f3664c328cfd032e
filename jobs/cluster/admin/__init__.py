"""Kafka's admin requests, one file per family.

All of them go through `jobs.cluster.protocol`. Functions that take a `ClusterClient` are for callers with
threads, those that take a `RawCluster` or a connection are coroutines.

In reading order: `topics`, `partitions`, `configs`, `acls`, `offsets`, `groups`, `brokers`, `log_dirs`,
`replica_lags`, `reassignments`, `quorum`, `controllers`, `registrations`,
`broker_heartbeat`, `metadata_propagation`.
"""
