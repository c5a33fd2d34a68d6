"""Findings, one format a file."""
