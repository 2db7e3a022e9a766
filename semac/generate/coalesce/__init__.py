"""Variables of a printed function that are copies of each other become one: `y = x` goes.

The printers bind each value of the program, each parameter of a loop and each result to a variable of its own. Where
one only goes on from another (`x_2 = x`, `total = sum_2`), a person would have written one variable.

What is merged, and why nobody can tell:

- Only local variables of the function that no function, generator or `:=` inside it mentions. So all that reads or sets
  them are the statements that are looked at here, in the order that Python gives them.
- Two variables conflict where one is set while the other's value is still wanted (`conflicts.py`: liveness over the
  statements, loops to a fixed point, where an error is caught what its handler reads), but for `y = x` itself, after
  which both are the same value. Variables that don't conflict can share a name; a copy between them does nothing.
- Two parameters stay two, and so do variables to which the program gave different names: each is there for a debugger.

`SEMA_SKIP=copies` leaves it out, and so do code under a debugger and native code, which has a type for each variable.
"""

from semac.generate.coalesce.merge import coalesce as coalesce
