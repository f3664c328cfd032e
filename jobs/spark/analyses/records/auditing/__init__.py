"""The audit of a copy: both sides of each partition aligned by what their records hash to.

In reading order: `kinds`, `matching`, `alignment`, `judging`, `hours`, `comparing`, `proofs`, `pairs`,
`rows`.
"""
