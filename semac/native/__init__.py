"""Native code: the functions of a module as C, beside its Python."""
