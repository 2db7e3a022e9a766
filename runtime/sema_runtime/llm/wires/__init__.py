"""Wire formats: from a request to a body, from a body or stream to a reply."""
