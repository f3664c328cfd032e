"""Messages of Kafka's generated protocol, read and written by a table of their fields.

In reading order: `schema`, `reader`, `writer`.
"""
