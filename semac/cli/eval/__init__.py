"""`sema eval`: programs as text, one by one or as a stream."""
