"""Plan compiler and validator for distributed training."""

__version__ = "1.0.0"
