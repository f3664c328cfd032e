"""Rounds that describe quorums: their voters, replicas and findings.

In reading order: `collect`, `evaluation`, `findings`, `replicas`, `timelines`, `verdict`,
`models`.
"""
