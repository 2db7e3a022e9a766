"""The commands of `sema box`."""
