"""The batch path: whole record batches pass from source to target, exactly once by default.

In reading order: `copier`, `session`, `fetch`, `source_resets`, `filter`, `outgoing`, `partition`, `produce`,
`commit`, `transactions`, `markers`, `leaders`, `target_state`, `errors`.
"""
