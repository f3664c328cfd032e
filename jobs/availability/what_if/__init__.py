"""What becomes of a cluster when brokers, racks or controllers are lost, step by step.

Sub-rooms: `model`.

In reading order: `simulation`, `steps`, `election`, `partition_risk`, `outcome`, `matrix`, `answer_json`.
"""

from jobs.availability.what_if.simulation import simulate

__all__ = ["simulate"]
