"""Moving consumer groups to the other cluster of a flow and back: plan, apply, verify, undo, report.

Sub-rooms: `reports`.

In reading order: `model`, `session`, `planner`, `read_evidence`, `evidence`, `targets`,
`group_checks`, `topic_checks`, `acl_checks`, `applying`, `kafka`, `commands`.
"""
