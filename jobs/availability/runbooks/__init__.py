"""What to do at 03:12: for each severity and cause of a partition's trouble, steps with commands.

In reading order: `runbook`, `model`, `steps`, `commands`, `kafka_commands`.
"""
