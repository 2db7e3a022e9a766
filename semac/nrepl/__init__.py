"""An nREPL server, so that Calva, CIDER, Conjure and other editors evaluate forms in place.

Threads read requests and answer what needs no evaluation. Forms run on the main thread one after the other, as in the
REPL, because only there a signal can interrupt them.
"""
