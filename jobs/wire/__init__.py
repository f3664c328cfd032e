"""Kafka's bytes to values and back: pure, no I/O, no clock.

Sub-rooms: `batches`, `rebatch`, `messages`, `metadata`, `topics`.

In reading order: `fields`, `uuids`, `mirror_records`, `consumer_protocol`, `streams_userdata`, `timestamps`,
`errors`, `machine_code`, `scratch`.
"""
