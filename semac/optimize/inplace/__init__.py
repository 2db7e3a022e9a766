"""Maps of the runtime that change in place: those which code that holds a token has copied, and which nobody else holds."""
