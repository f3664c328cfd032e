"""The audit of a copy: both sides of each partition aligned by what their records hash to.

In reading order: `pairs`, `proofs`, `rising`, `matching`, `alignment`, `judging`, `hours`, `comparing`, `rows`.
"""
