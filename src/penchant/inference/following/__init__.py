"""A play followed event by event: variables near a peak, the peak, and what is said of it."""
