"""What is wrong with a quorum: by the metadata log, by DescribeQuorum, and whether both agree.

In reading order: `codes`, `checks`, `rules`, `voter_states`, `describe_quorum_rules`, `elections`,
`metadata_log_rules`, `compare`.
"""
