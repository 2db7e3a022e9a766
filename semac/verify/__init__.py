"""Verification of units between passes: a broken rule is an error of the compiler that names the pass.

`SEMA_VERIFY=1` runs it in every compilation; the test-suite does. Each rule is a check of what stands in the unit, not
of how a pass came to it, so no pass and no inference needs to be trusted.

V1 scope: variables are bound before they are used, fixed ones once; arities; jumps stand where their loop's value would
V9 what can raise has a place in the source; V10 bare dicts and stacks meet those operations alone that want them
"""
