"""The experiments, tables and claims of the paper, reproduced with Penchant's public names."""
