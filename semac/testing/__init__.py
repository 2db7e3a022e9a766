"""Tests in `.sema` files: the plugin of pytest, and `sema test`."""
