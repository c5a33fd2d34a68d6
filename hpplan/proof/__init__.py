"""Proving a plan: a small instance of its model, run as the plan says, against the whole of it."""
