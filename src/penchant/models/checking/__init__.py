"""What is wrong with a model, in sentences for its author."""
