"""Forms to IR: names, scopes and special forms."""
