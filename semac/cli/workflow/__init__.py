"""`sema workflow`: one file a subcommand."""
