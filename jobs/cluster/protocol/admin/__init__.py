"""Requests that describe and change a cluster: quorum, brokers, settings, reassignments, elections.

In reading order: `cluster_description`, `fenced_brokers`, `topic_partitions`, `quorum`,
`registrations`, `broker_heartbeat`, `resource_configs`, `reassignments`, `elections`.
"""
