"""Lexical scopes during analysis: which variable a name means, and in which function it lives."""

from __future__ import annotations

from semac.ir.nodes import Function, Var


class Scope:
    """One level of bindings inside one function. The global level is no Scope: a name no scope knows is global."""

    __slots__ = ("function", "inner_defines", "parent", "vars")

    def __init__(self, function: Function, parent: Scope | None) -> None:
        self.function = function
        self.parent = parent
        self.vars: dict[str, Var] = {}
        self.inner_defines: list[Var] | None = None  # of a body: the variables that defines in it make

    def child(self) -> Scope:
        """A nested scope of the same function."""
        return Scope(self.function, self)

    def declare(self, name: str) -> Var:
        """A new variable here; an older one of the same name in this scope is hidden."""
        var = Var(name, self.function)
        self.vars[name] = var
        self.function.locals.append(var)
        return var

    def define(self, name: str) -> Var:
        """A new variable that a define makes here. It belongs to the body around it, which lists it."""
        var = self.declare(name)
        var.inner_define = True
        scope: Scope | None = self
        while scope is not None and scope.inner_defines is None:
            scope = scope.parent
        if scope is not None and scope.inner_defines is not None:
            scope.inner_defines.append(var)
        return var

    def find(self, name: str) -> Var | None:
        """The variable a name means here; notes when it belongs to an enclosing function."""
        scope: Scope | None = self
        while scope is not None:
            var = scope.vars.get(name)
            if var is not None:
                if var.owner is not self.function:
                    var.captured = True
                return var
            scope = scope.parent
        return None

    def find_in_function(self, name: str) -> Var | None:
        """Like `find`, but not across the boundary of the function (for inner defines)."""
        scope: Scope | None = self
        while scope is not None and scope.function is self.function:
            var = scope.vars.get(name)
            if var is not None:
                return var
            scope = scope.parent
        return None
