"""What differs between two plans or two texts."""
