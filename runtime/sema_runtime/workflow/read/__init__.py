"""Reading runs: from the files of a run to what was done, cost and returned."""
