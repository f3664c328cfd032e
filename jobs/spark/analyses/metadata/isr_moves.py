"""Brokers that leave and join ISRs, with leader and rack at that time: SQL shared by several analyses."""

from __future__ import annotations

# When a broker counts as leaving or joining, in words.
MOVES_DEFINITION = (
    "A shrink is one broker that leaves the ISR of one partition and remains its replica: a replica that a"
    " reassignment removes, or a deleted topic, is not counted. An expand is one broker that joins the ISR of"
    " an existing partition."
)
# A change of a partition that moved brokers, and which; of the columns of `partition_changes`.
SHRUNK = "array_intersect(array_except(previous_isr, isr), replicas)"
EXPANDED = "array_except(isr, previous_isr)"

# A row for each broker and change. Rows that only a snapshot tells have no time.
MOVES = f"""
SELECT offset, timestamp_ms, topic_id, topic, partition, leader, cause,
       move.broker_id, move.is_shrink
FROM (
  SELECT *, explode(concat(
    transform({SHRUNK}, one -> struct(one AS broker_id, true AS is_shrink)),
    transform({EXPANDED}, one -> struct(one AS broker_id, false AS is_shrink)))) AS move
  FROM partition_changes
  WHERE (timestamp_ms IS NULL OR timestamp_ms >= :since_ms)
    AND NOT is_removed AND previous_isr <> isr
)
"""  # noqa: S608  only constants of this file

# From which offset to which a broker was in which rack.
RACKS = """
SELECT broker_id, COALESCE(rack, 'no rack') AS rack, offset AS from_offset,
       LEAD(offset, 1, 9223372036854775807) OVER (PARTITION BY broker_id ORDER BY offset) AS to_offset
FROM broker_changes
WHERE previous_is_fenced IS NULL OR NOT rack <=> previous_rack
"""
