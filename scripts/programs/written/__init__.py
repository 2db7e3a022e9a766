"""Sources of random programs that write them without the grammar."""
