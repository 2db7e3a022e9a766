"""Maps that nobody sees as maps: each of their fields has a variable of its own."""
