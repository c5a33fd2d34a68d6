"""From samples of a data loader to micro-batches: placeholders, rows and packing."""
