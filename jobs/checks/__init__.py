"""Checks: pure rules over recorded state, their thresholds, and the incidents that their findings make.

In reading order: `check`, `settings`, `clusters`, `brokers`, `partitions`, `replicas`, `groups`,
`group_memory`, `flows`, `crosslog`, `open_findings`, `incident_texts`, `incidents`, `damping`,
`maintenance`.
"""
