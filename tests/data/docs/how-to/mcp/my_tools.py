from mcp.server import MCPServer

server = MCPServer("my tools")


@server.tool()
def forecast(city: str) -> str:
    return f"rain in {city}"
