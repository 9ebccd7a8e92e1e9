"""Models of tasks that clinics use: two-step, go/no-go, gains and losses, Iowa, reversal."""
