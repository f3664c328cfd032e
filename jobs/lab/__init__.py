"""Real Apache Kafka clusters on this machine, for the demo, the tests and drills.

Sub-rooms: `install`, `traffic`, `streams`.

In reading order: `lab`, `plan`, `cluster`, `node`, `properties`, `security`, `storage`, `ports`,
`probe`, `mirror_maker`, `daemon`, `control`, `child`, `cli`, `__main__`, `errors`.
"""
