"""A client of MCP servers (Model Context Protocol, revision 2025-11-25): `lib/llm/mcp.py` has what programs call."""
