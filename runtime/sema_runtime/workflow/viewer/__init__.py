"""The viewer of workflow runs: a page on loopback, fed from the journals as they grow."""
