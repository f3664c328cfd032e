"""Collection of Kafka Streams applications: ask a cluster, judge, write rows and a freshness row.

In reading order: `collect`, `rows`, `changes`.
"""
