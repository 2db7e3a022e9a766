"""What the standard library and the LLM layer share: HTTP requests (`http`), event streams (`sse`)."""
