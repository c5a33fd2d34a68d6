"""Text on disk to data that knows its positions, and back."""
