"""Rounds that describe quorums: their voters, replicas and findings.

In reading order: `collect`, `door`, `described`, `evaluation`, `findings`, `replicas`, `timelines`,
`verdict`, `models`.
"""
