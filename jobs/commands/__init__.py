"""The commands of `crosslog`, one file each."""
