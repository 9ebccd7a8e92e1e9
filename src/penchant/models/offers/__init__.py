"""Models of decisions that stand by themselves."""
