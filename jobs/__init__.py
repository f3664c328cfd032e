"""Everything that is true of Kafka and everything that runs on Spark; never imports Django.

`entry` is no package: it holds what is given to spark-submit, alone in its folder.

Rooms: `patterns`, `wire`, `checks`, `notifications`, `objectives`, `cluster`, `reports`, `replication`,
`quorum`, `availability`, `streams`, `tracing`, `spark`, `lab`, `commands`.

In reading order: `cli`, `__main__`, `archives`, `files`, `limits`, `logs`, `numbers`, `csv_text`,
`visible`, `memory`, `json_text`, `near_names`, `waiting`, `severity`, `findings`, `version`.
"""
