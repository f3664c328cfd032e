"""The topology of an application, as Kafka Streams describes it and as a picture.

In reading order: `described`, `reading`, `fitting`, `graph`, `layout`, `placing`.
"""
