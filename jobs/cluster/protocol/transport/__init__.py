"""One connection to one broker, and many: sockets, frames, versions, sign-in and time-outs.

In reading order: `stream`, `frames`, `connection`, `connection_pool`, `versions`, `apis`,
`kafka_releases`, `compact`, `primitives`, `security`, `login`, `scram`, `timing`,
`transport_faults`.
"""
