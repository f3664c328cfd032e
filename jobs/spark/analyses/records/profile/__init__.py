"""What `topic-profile` does: it counts in tasks, merges in the driver, and looks for changes.

In reading order: `planning`, `tallies`, `counting`, `merging`, `change_points`, `around`.
"""
