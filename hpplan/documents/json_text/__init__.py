"""JSON text to data."""
