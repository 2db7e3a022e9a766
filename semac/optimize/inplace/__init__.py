"""Maps of the runtime that change in place: copies that code with a token has made, and that nobody else holds."""
