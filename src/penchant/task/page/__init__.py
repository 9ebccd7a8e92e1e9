"""What the browser loads: plain modules, style and texts."""
