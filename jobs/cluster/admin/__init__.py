"""What is asked of a cluster and changed there by Kafka's admin requests, one file per family.

In reading order: `topics`, `partitions`, `configs`, `acls`, `offsets`, `groups`, `brokers`.
"""
