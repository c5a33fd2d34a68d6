"""Explanations of codes, plans and names."""
