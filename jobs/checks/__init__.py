"""Checks: pure rules over recorded state, their thresholds, and the incidents that their findings make.

In reading order: `check`, `settings`, `clusters`, `open_findings`, `incident_texts`, `incidents`, `damping`,
`maintenance`.
"""
