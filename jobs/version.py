"""The version of crosslog."""

VERSION = "0.6.0"
