"""`crosslog standby`: fenced standby brokers, and the other ways to act.

In reading order: `command`, `running`, `election`, `output`.
"""
