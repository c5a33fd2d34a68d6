"""Runs checks over documents of any kind, and knows every code."""
