"""What a batch holds."""
