"""YAML text to data."""
