"""The batch path: whole record batches pass from source to target, exactly once by default."""
