"""The only door to a Kafka cluster: typed connections, named errors, one file per family of requests.

Sub-rooms: `admin`, `protocol`, `capabilities`, `schemas`.

In reading order: `connection`, `secrets`, `client`, `descriptions`, `group_members`, `errors`,
`librdkafka_errors`, `untrusted_text`, `network_addresses`, `check`, `read_only`, `settings_file`,
`topic_reader`, `records`, `record_fingerprints`, `stuck_offsets`.
"""
