"""Kafka's bytes to values and back: pure, no I/O, no clock.

Sub-rooms: `batches`, `rebatch`, `messages`, `metadata`, `topics`.

In reading order: `fields`, `mirror_records`, `consumer_protocol`, `streams_userdata`, `values`,
`errors`, `machine_code`.
"""
