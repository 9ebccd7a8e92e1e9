"""Example data that come with the library, and the roles of their columns."""

from penchant.datasets.catalogue import Dataset, dataset, load, names

__all__ = ["Dataset", "dataset", "load", "names"]
