"""The metadata log folded into the history of all partitions by compiled loops.

In reading order: `replay`, `folder`, `framing`, `ranges`, `dealing`, `runs`, `sparse`, `table`, `buffers`,
`lists`, `kernels`, `partition_causes`, `broker_causes`, `history`, `arrow`, `ahead`.
"""
