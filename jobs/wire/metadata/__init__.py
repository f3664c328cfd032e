"""The metadata log of KRaft: its records one by one, its snapshots, and both as columns.

In reading order: `schema`, `records`, `control_records`, `snapshots`, `log`, `log_folder_files`,
`columns`, `table`, `compiled`, `kernels`, `bodies`.
"""
