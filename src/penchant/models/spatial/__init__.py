"""Models of options that lie in space."""
