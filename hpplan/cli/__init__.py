"""The command line: arguments, calls, printing."""
