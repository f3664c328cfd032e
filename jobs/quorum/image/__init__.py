"""What a cluster is at one moment, as Kafka's `MetadataImage` has it.

In reading order: `image`, `tables`, `partition_registration`, `registrations`, `point_in_time`,
`diff`.
"""
