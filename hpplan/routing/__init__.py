"""Workload and mesh to routes; no torch."""
