"""The version, where every module may read it."""

__version__ = "1.0.0"
