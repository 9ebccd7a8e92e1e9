"""Work around a fit: recover, design, compare, predict."""
