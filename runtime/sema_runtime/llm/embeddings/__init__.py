"""Embeddings, rankings and vector stores."""
