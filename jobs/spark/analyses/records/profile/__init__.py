"""What `topic-profile` does: it counts in tasks, merges in the driver, and looks for changes.

In reading order: `sketches`, `kernels`, `tallies`, `counting`, `planning`, `merging`, `series`,
`change_points`, `around`.
"""
