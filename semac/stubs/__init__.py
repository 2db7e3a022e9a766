"""What the compiler infers, for people and for Python's type checkers: hints in editors, `.pyi` stubs."""
