"""Any table of people, read as plain arrays: cells, labels, columns."""
