"""Builtins for HTTP and WebSockets."""
