"""Polymorphic types of builtins, as their declarations say them."""
