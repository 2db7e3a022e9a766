"""Stands for the server of files that the page takes from npm."""

from pathlib import Path

from mcp.server import MCPServer

server = MCPServer("files")


@server.tool()
def write_file(path: str, content: str) -> str:
    Path(path).write_text(content)
    return "written"


@server.tool()
def read_text_file(path: str) -> str:
    return Path(path).read_text()


@server.tool()
def list_directory(path: str) -> str:
    return "bakery.txt"


if __name__ == "__main__":
    server.run()
