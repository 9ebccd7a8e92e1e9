"""Estimates of models with shape parameters."""
