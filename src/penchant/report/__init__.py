"""Reports: one page with everything, and the tables and figures beside it."""
