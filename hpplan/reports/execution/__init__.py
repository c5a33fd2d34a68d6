"""What an execution measured."""
