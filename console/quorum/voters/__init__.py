"""Rounds that describe quorums: their voters, replicas and findings.

In reading order: `collect`, `evaluation`, `timelines`, `verdict`,
`models`.
"""
