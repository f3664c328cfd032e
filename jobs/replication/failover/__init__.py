"""Moving consumer groups to the other cluster of a flow and back: plan, apply, verify, undo, report.

Sub-rooms: `reports`.

In reading order: `model`, `session`, `planner`, `read_evidence`, `evidence`, `read_syncs`, `targets`,
`group_checks`, `topic_checks`, `acl_checks`, `freshness`, `applying`, `kafka_door`, `commands`.
"""
