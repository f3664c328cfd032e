"""The one place that says which version of crosslog this is."""

VERSION = "0.6.0"
