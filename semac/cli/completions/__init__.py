"""`sema completions`: what shells offer at Tab."""
