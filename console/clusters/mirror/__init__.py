"""What is mirrored to a cluster: the questions of Kafka's MirrorClient.

In reading order: `answers`, `api`, `pages`.
"""
