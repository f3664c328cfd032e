"""Commands about the metadata log and the voters of a quorum.

In reading order: `arguments`, `dump_log`, `voters`, `history`, `state`, `log_arguments`,
`follow_metadata`, `quorum_change`.
"""
