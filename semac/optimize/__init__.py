"""The passes over the intermediate representation."""
