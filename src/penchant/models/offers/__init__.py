"""Models of one-shot choices."""
