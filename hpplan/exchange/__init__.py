"""Runs routes with real collectives; the only package that imports torch."""
