"""Private copies of public functions for arguments of likely types."""
