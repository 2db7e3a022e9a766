"""Recorded answers: the response cache and cassettes."""
