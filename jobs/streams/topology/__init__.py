"""The topology of an application, as Kafka Streams describes it, and as a graph for Graphviz.

In reading order: `described`, `reading`, `from_broker`, `fitting`, `graph`.
"""
