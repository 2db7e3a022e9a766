"""The LLM layer: providers, wire formats, agents, budgets, cache and cassettes.

Nothing here is imported until a program makes its first call; httpx and tenacity only when it reaches the network.
"""
