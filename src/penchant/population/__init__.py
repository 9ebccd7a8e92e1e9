"""Many subjects: performance categories, population estimates, tests between groups."""
