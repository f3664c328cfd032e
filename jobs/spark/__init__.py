"""Spark in one place: the job contract, submitting, sessions and progress.

Sub-rooms: `flow_driver`, `channel`, `analyses`, `engine`, `slots`.

In reading order: `contract`, `submit`, `launcher`, `run_supervisor`, `processes`, `application`,
`settings`, `secret`, `control`, `class_archive`, `packed_cache`, `task_daemon`.
"""
