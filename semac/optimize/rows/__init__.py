"""Lists of known length that are only taken apart are tuples."""
