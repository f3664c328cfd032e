"""Voters, leaders and elections over time, read from the records of a metadata log.

In reading order: `voter_timeline`, `parts`, `reader`, `controls`, `anomalies`, `clock`.
"""
