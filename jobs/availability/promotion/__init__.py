"""Advice about observers: which to promote or to demote, why, and whether it may be done now.

In reading order: `advisor`, `advice`, `need`, `candidates`, `demotion`, `broker_advice`,
`leaderless`, `looking`, `guard`, `guard_facts`, `tracking`, `watch`, `expected_times`.
"""
