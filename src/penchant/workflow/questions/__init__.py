"""What to ask next: beliefs on nodes, and the information of every offer."""
