"""Wire formats: a request to a body, a body or stream to a reply."""
