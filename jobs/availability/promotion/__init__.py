"""Advice about observers: which to promote or to demote, why, and whether it may be done now.

Sub-rooms: `actors`.

In reading order: `advisor`, `advice`, `required_isr`, `candidates`, `demotion`, `leaderless`,
`live_state`, `preconditions`, `observer_findings`, `checks`, `expected_times`.
"""
