"""Checks from plan to diagnostics, one a file."""
