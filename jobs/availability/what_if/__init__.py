"""What becomes of a cluster when brokers, racks or controllers are lost, step by step.

Sub-rooms: `model`.

In reading order: `simulation`, `steps`, `simulation_state`, `election`, `standbys`, `partition_risk`,
`quorum_outlook`, `outcome`, `matrix`, `answer_json`.
"""

from jobs.availability.what_if.simulation import simulate

__all__ = ["simulate"]
