"""The moments of a flow's start, in their order, as the driver tells them in `stages` of `progress.json`."""

# Spark is up; both clusters were read; a task reported a partition; a record was replicated.
DRIVER_STARTED = "driver_started"
SURVEYED = "surveyed"
TASKS_STARTED = "tasks_started"
FIRST_RECORD = "first_record"
