"""The metadata log folded into the history of all partitions by compiled loops.

In reading order: `framing`, `replay`, `folder`, `runs`, `sparse`, `dealing`, `ranges`, `table`,
`buffers`, `lists`, `kernels`, `partition_causes`, `broker_causes`, `history`, `arrow`, `ahead`.
"""
