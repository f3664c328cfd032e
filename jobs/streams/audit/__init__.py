"""The audit: checks of Kafka Streams applications: what a collection sees of one, and rules over it. Pure.

In reading order: `conditions`, `routing`, `members`, `threads`, `state`, `topics`, `times`, `added`,
`orphans`, `rules`, `running`.
"""
