"""Labs that several files of live tests share; see `conftest.py` for their end."""

from jobs.lab.lab import Lab

SHARED: list[Lab] = []
