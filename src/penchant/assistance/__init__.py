"""A machine that learns from its operator, and helps: advice with the last word to the person."""
