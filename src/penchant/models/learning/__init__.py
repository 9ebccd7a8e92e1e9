"""Models that learn from rewards."""
