"""`sema mcp`: the MCP server with the tools of the compiler, of programs, of workflows and of notebooks."""
