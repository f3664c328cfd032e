"""The metadata log folded into the history of all partitions by compiled loops.

In reading order: `replay`, `folder`, `table`, `room`, `lists`, `kernels`, `judge`, `neighbours`,
`history`, `arrow`.
"""
