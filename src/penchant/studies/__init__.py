"""A study of many subjects, from a table of choices to tables and tests."""
