"""What people and machines read, one format a file."""
