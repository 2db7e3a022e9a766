"""The typed intermediate representation in A-normal form, on which all passes work."""
