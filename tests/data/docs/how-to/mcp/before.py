import sys

FILES = "@modelcontextprotocol/server-filesystem"
REPLACE = {
    f'"npx" :args ["-y" "{FILES}" "{folder}"]': f'"{sys.executable}" :args ["server.py"]'
    for folder in ("/tmp", "notes")
} | {"/tmp/list.txt": "list.txt"}
