"""`sema new`: the skeleton of a project."""
