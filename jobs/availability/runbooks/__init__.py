"""What to do at 03:12: for each severity and cause of a partition's trouble, steps with commands.

The texts are the Markdown files below this folder. In reading order: `runbook`, `kafka_commands`.
"""
