"""The batch path: whole record batches pass from source to target, exactly once by default.

Sub-rooms: `produce`.

In reading order: `copier`, `session`, `commit_pace`, `fetcher`, `batch_filter`, `partition`, `leaders`,
`leader_monitor`, `assignment_updates`, `target_state`, `source_resets`, `error_policy`, `memory`,
`quotas`, `throttle`, `threads`.
"""
