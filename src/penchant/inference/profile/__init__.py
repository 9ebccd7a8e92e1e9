"""The profile: for each psi the weights are solved exactly."""
