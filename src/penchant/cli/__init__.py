"""A thin shell: parse, call one function, show."""
