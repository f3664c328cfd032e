"""One connection to one broker, and many: sockets, frames, versions, sign-in and time-outs.

In reading order: `stream`, `frames`, `connection`, `connection_pool`, `apis`, `streams_describe`,
`kafka_releases`, `primitives`, `security`, `login`, `scram`, `timing`, `transport_faults`.
"""
