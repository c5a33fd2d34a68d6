"""Passes from plan to plan, one a file."""
