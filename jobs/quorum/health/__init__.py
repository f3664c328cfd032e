"""Whether a quorum is well: by the metadata log, by DescribeQuorum, and whether both agree.

In reading order: `finding`, `rules`, `describe_quorum_rules`, `metadata_log_rules`, `compare`.
"""
