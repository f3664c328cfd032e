"""The record path: every record is read by one Kafka client and written by another.

In reading order: `copier`, `session`, `partition`, `delivery`, `progress_report`.
"""
