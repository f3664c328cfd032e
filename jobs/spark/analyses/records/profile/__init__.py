"""What `topic-profile` does: it counts in tasks, merges in the driver, and looks for changes.

In reading order: `tallies`, `counting`, `planning`, `merging`, `change_points`, `around`.
"""
