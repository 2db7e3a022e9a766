"""An evaluation of models that write programs for the box: thirty tasks over generated data, and what is counted."""
