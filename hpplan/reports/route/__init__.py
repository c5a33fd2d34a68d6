"""Previews of routes, one format a file."""
