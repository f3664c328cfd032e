"""Moving consumer groups to the other cluster of a flow and back: plan, apply, verify, undo, report."""
