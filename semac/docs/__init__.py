"""What `sema doc` shows."""
