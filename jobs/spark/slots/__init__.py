"""An engine of flows: one Spark application whose slots copy for many flows.

In reading order: `driver`, `hosted_flow`, `slots`, `dealing`, `slot_task`, `slot_daemon`.
"""
