"""What checks look at: a plan with all that is known about it."""
