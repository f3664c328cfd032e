"""What `outbox` reads and what it judges.

In reading order: `events`, `judging`.
"""
