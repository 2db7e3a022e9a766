"""Value types: atoms, lists, maps, conditions, equality and printing."""
