"""The processes of crosslog on one machine, and what long-lived ones share.

In reading order: `programs`, `supervisor`, `forked`, `liveness`, `crashes`, `single_instance`,
`commands`, `threads`, `gc_freeze`, `demo_setup`, `demo_client`.
"""
