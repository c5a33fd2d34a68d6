"""Statistics over many micro-batches, one format a file."""
