"""Answers that are kept: the response cache and cassettes."""
