"""Where sessions and choices are kept: SQLite, or PostgreSQL by its address."""
