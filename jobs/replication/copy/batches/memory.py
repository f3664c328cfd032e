"""How much memory a copier holds: answers of brokers stay whole while one outgoing batch looks into them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Memory:
    """The bytes of everything that was fetched and is not acknowledged yet, counted as they are held."""

    used_bytes: int = 0

    def hold(self, size_bytes: int) -> Held:
        """Return a piece of memory that nobody looks at yet, so it does not count yet."""
        return Held(self, size_bytes)


@dataclass(slots=True)
class Held:
    """One piece of memory: it counts whole from its first user to its last."""

    memory: Memory
    size_bytes: int
    users: int = 0

    def use(self) -> None:
        """Count one more user."""
        if not self.users:
            self.memory.used_bytes += self.size_bytes
        self.users += 1

    def release(self) -> None:
        """Count one user less."""
        self.users -= 1
        if not self.users:
            self.memory.used_bytes -= self.size_bytes
