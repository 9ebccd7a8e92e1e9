"""The paper's numerical experiments and tables, with what they say of its claims."""
