"""MCP servers of Sema programs. `serve_program` serves the tools of a program; `sema mcp` adds those of the compiler.

A server never runs a program in its own process: `worker` does, and `program` asks it, stops calls and starts it again.
"""
