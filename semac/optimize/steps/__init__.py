"""Tasks that are generators."""
