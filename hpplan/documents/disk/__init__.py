"""Files, streams and folders."""
