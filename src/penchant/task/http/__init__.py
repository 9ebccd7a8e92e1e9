"""The server: routes, limits, who may see what."""
