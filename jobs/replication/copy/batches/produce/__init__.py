"""The sending half of the batch path: produce requests, transactions and what a commit writes.

In reading order: `sender`, `produce_request`, `delivery`, `transaction_markers`,
`commit_writer`.
"""
