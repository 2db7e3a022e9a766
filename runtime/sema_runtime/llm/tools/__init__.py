"""Functions that a model may call, and their schemas."""
