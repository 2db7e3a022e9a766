"""What an agent that writes programs is told, and how its answers are read: no model is called here."""
