"""Reports of clusters.

In reading order: `availability`, `availability_recorded`, `availability_figures`, `partition_time`,
`watched_time`, `quorum`, `quorum_recorded`, `leader_lanes`, `config_changes`.
"""
