"""The box as a server: `service.py` does the work, `answers.py` shows it, `mcp_server.py` and `http.py` carry it."""
