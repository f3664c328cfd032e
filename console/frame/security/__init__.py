"""Who may do what, and what must hold of every request and every call to others.

In reading order: `access`, `current_request`, `middleware`, `read_only`, `masking`, `outbound`,
`outbound_adapter`, `sealing`, `checks`, `private`.
"""
