"""The engine of flows: one Spark application that hosts many flows, whose copiers share a few processes.

In reading order: `hosted_flow`, `driver`.
"""
