"""What tells the ranks of a job that one of them is lost, and which."""
