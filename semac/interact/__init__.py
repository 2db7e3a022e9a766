"""What prompts and notebooks share: is a text complete, what completes a name, what documents it."""
