"""Builtins for models, tools, agents, workflows, MCP servers, traces."""
