"""The search over psi."""
