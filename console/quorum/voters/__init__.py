"""Rounds that describe quorums: their voters, replicas and findings.

In reading order: `collect`, `evaluation`, `findings`, `timelines`, `verdict`,
`models`.
"""
