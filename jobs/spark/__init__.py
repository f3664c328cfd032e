"""Spark in one place: the job contract, the submit door, sessions and progress."""
