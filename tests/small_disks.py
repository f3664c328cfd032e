"""A full disk for a test: a file system of 64 KiB in a folder."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """Mount a file system of 64 KiB; skip the test where this user may not."""
    if os.geteuid() != 0:
        pytest.skip("run as root: only root mounts file systems")
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("run where root may mount file systems: a container needs CAP_SYS_ADMIN")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)
