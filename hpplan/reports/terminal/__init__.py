"""What a terminal shows: paint, tables, progress."""
