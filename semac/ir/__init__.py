"""The intermediate representation: nodes, questions about them, types, identifiers, dumping."""
