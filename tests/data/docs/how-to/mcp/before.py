import sys

REPLACE = {
    f'"npx" :args ["-y" "@modelcontextprotocol/server-filesystem" "{folder}"]': f'"{sys.executable}" :args ["server.py"]'
    for folder in ("/tmp", "notes")
} | {"/tmp/list.txt": "list.txt"}
