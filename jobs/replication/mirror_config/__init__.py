"""MirrorMaker 2's configuration, wherever it is written: what it means per flow, what is wrong with it."""
