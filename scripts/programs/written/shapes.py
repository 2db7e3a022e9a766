"""Random programs about things: maps of a few keywords, and short lists, that functions make, keep, hand on and ask.

Things lie in lists, in maps under numbers and lists, in other things and in closures; they go through functions that
are called by name, kept in lists or handed on. Most programs ask only for fields and items. Some look at a whole thing:
print, compare or count it, ask for its keys, take it for something else, or throw it.

In a template, `<thing>` stands for an expression of a kind, `<thing x y>` for one that may use variables of the
template, `?x` for such a variable; the first letter of its name says its kind.
"""

from __future__ import annotations

import random
import re

KINDS = {"t": "thing", "r": "row", "s": "things", "m": "table", "i": "int", "f": "function"}
LEAVES = {
    "thing": ["nil", "{:a 1 :b 2 :c 3}", "{:a 2 :b nil :c 0}"],
    "row": ["(list 1 2)", "(list 2 0)", "'(1 2)", "'(0 1)"],
    "int": ["0", "1", "2", "3"],
    "things": ["'()", "(list {:a 3 :b 1 :c 2})"],
    "table": ["{}"],
    "function": ["(fn (x) x)"],
    "field": [":a", ":b", ":c"],
    "either": ["7", "{:a 1 :b 2 :c 3}"],
    "key": ["(list 1 2)", "(list 0 1)", "'(0 1)", "1"],
    "value": ["1", "2", "nil"],
    "test": ["#t", "#f"],
}
TEMPLATES = {
    "thing": [
        "{:a <value> :b <value> :c <value>}",
        "{:a <value> :b <value> :c <value>}",
        "{:a <value>}",
        "{:b <value> :c <value>}",
        "(assoc <thing> <field> <value>)",
        "(assoc <thing> <field> <value> <field> <value>)",
        "(assoc <thing> :a <value> :b <value> :c <value>)",
        "(map/update <thing> <field> (fn (?i) <int i>))",
        "(assoc-in <thing> [<field> <field>] <value>)",
        "(update-in <thing> [<field>] (fn (?i) <int i>))",
        "(first <things>)",
        "(nth <things> <int>)",
        "(get <table> <key>)",
        "(get <table> <key> <thing>)",
        "((fn (?t) <thing t>) <thing>)",
        "(<function> <thing>)",
        "(<function> <thing>)",
    ],
    "row": [
        "(list <value> <value>)",
        "(list <value> <value>)",
        "(list <value> <value> <value>)",
        "[<value> <value>]",
        "(first (map (fn (?t) (list <value t> <value t>)) <things>))",
        "(first (map/entries <table>))",
        "(first (keys <table>))",
        "(first '((1 2) (0 1)))",
        "(first (sort (list <row> <row>) (fn (?r ?rr) <int r rr>)))",
    ],
    "table": [
        "(assoc <table> <key> <thing>)",
        "(assoc <table> <row> <thing>)",
        "(dissoc <table> <key>)",
        "(foldl (fn (?m ?t) (assoc ?m (list (:a ?t) 1) <thing t>)) {} <things>)",
        "(foldl (fn (?m ?t) (assoc ?m <key t m> ?t)) <table> <things>)",
    ],
    "things": [
        "(map (fn (?i) <thing i>) (range 3))",
        "(map (fn (?t) <thing t>) <things>)",
        "(filter (fn (?t) <test t>) <things>)",
        "(cons <thing> <things>)",
        "(append <things> <things>)",
        "(append (rest <things>) <things>)",
        "(append (cdr (car (partition (fn (?t) <test t>) <things>))) (rest <things>))",
        "(apply append (list <things> <things>))",
        "(reverse <things>)",
        "(rest <things>)",
        "(vals <table>)",
        "(map cadr (map/entries <table>))",
        "(sort-by (fn (?t) <int t>) <things>)",
        "(sort-by (fn (?t) <row t>) <things>)",
        "(sort-by (fn (?t) [<int t> <row t>]) <things>)",
        "(list <thing> <thing>)",
        "(flat-map (fn (?t) (list ?t <thing t>)) <things>)",
        "(map <function> <things>)",
        "(sort <things> (fn (?t ?tt) <int t tt>))",
    ],
    "function": [
        "(fn (?t) <thing t>)",
        "(if <test> (fn (?t) <thing t>) (fn (?t) ?t))",
        "(first (list (fn (?t) <thing t>)))",
    ],
    "test": [
        "(nil? <thing>)",
        "<thing>",
        "(not <thing>)",
        "(< <int> 3)",
        "(null? <things>)",
        "(= <int> 1)",
        "(= <field> (<field> <thing>))",
        "(= <row> <row>)",
        "(equal? <row> <key>)",
        "(contains? <table> <row>)",
    ],
    "int": [
        "(<field> <thing>)",
        "(<field> <thing>)",
        "(get <thing> <field>)",
        "(get <thing> <field> <int>)",
        "(get-in <thing> [<field> <field>])",
        "(+ <int> <int>)",
        "(first <row>)",
        "(cadr <row>)",
        "(nth <row> 1)",
        "(length <things>)",
        "(if (map? <either>) 1 2)",
        "(let (([?i ?ii] <row>)) (+ ?i ?ii))",
        "(length (vals <table>))",
        "(foldl (fn (?i ?r) <int i r>) 0 '((1 2) (2 0)))",
        "(foldl (fn (?i ?r) <int i r>) 0 (sort-by cadr (map (fn (?t) <row t>) <things>)))",
        "(foldl (fn (?i ?t) <int i t>) 0 <things>)",
    ],
    "either": [
        "(try <thing> (catch e <int>))",
        "(begin (println <int>) (try <thing> (catch e <int>)))",
        "(if <test> (try <row> (catch e <row>)) <int>)",
    ],
    "key": ["(list <int> <int>)", "(list <int> <int>)", "<int>"],
    "field": [],
}
ANY = [
    "(if <test> <K> <K>)",
    "(let ((?t <thing>)) <K t>)",
    "(let ((?r <row>) (?i <int>)) <K r i>)",
    "(try <K> (catch e <K>))",
    "(match <row> ([?i ?ii] <K i ii>) (_ <K>))",
    "(match <thing> ({:a ?i :b ?ii} <K i ii>) (_ <K>))",
    "(match <row> ([?i] <K i>) ([?i 1] <K i>) ([?i ?ii ?iii] <K i ii iii>) (_ <K>))",
    "(cond (<test> <K>) (else <K>))",
    "(let ((make list)) (first (make <K> <int>)))",
]
LOOKS = [
    "(begin (println <thing>) 1)",
    "(if (= <thing> <thing>) 1 2)",
    "(count <thing>)",
    "(length (keys <thing>))",
    "(if (map? <thing>) 1 2)",
    "(string-length (str <thing>))",
    "(first <thing>)",
    "(throw <thing>)",
    "(begin (println <row>) 1)",
    "(if (contains? <thing> <field>) 1 2)",
    "(length (sort <things>))",
    "(if (list? <row>) 1 2)",
    "(length (rest <row>))",
    "(apply + <row>)",
    "(<field> (merge <thing> <thing>))",
    "(begin (println <table>) (length (keys <table>)))",
    "(begin (println <things>) 1)",
    "(begin (println <either>) 1)",
    "(if (equal? <row> <row>) 1 2)",
    "(<field> (:a <thing>))",
    "((:a <thing>) <thing>)",
]
ODD = ["nil", ":a", "7", "[1 2]", "'(1 2)", '"x"', "{:a 1}", "(list 1 2)", "first"]
HOLE = re.compile(r"<(\w+)((?: \w+)*)>|\?(\w+)")
Scope = tuple[tuple[str, str], ...]  # names and kinds of variables


class Programs:
    """The program of a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = 0
        self.functions: list[tuple[str, str, tuple[str, ...]]] = []  # name, kind of the result, kinds of the arguments
        self.looks = self.random.choice((0.0, 0.0, 0.03, 0.1))  # how often a whole thing is looked at
        self.odd = self.random.choice((0.0, 0.0, 0.04))  # how often a value is of another kind
        self.nested = self.chance(0.5)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def program(self) -> str:
        forms = [self.function() for _ in range(self.random.randrange(2, 5))]
        scope: Scope = ()
        for _ in range(self.random.randrange(1, 4)):
            kind = self.random.choice(("things", "table", "thing", "int"))
            name = f"g{len(forms)}"
            forms.append(f"(define {name} (try {self.expr(kind, 4, scope)} (catch e {self.expr(kind, 0, scope)})))")
            scope += ((name, kind),)
        for _ in range(self.random.randrange(2, 4)):
            forms.append(f"(println (try {self.expr('int', 4, scope)} (catch e (:message e))))")
        if self.chance(0.2):
            forms.append(f"(println {' '.join(name for name, _ in scope)})")
        return "\n".join(forms)

    def function(self) -> str:
        result = self.random.choice(("thing", "thing", "row", "int", "things", "either"))
        kinds = tuple(self.random.choice((*KINDS.values(), "thing")) for _ in range(self.random.randrange(1, 3)))
        scope = tuple((self.fresh(), kind) for kind in kinds)
        name = f"f{len(self.functions)}"
        text = f"(define ({name} {' '.join(each for each, _ in scope)}) {self.expr(result, 4, scope)})"
        self.functions.append((name, result, kinds))
        return text

    def fresh(self) -> str:
        self.names += 1
        return f"v{self.names}"

    def expr(self, kind: str, depth: int, scope: Scope) -> str:
        if kind != "field" and self.chance(self.odd):
            return self.random.choice(ODD)
        if kind == "value":
            kind = self.random.choice(("int", "int", "int", *(("thing", "things", "row") if self.nested else ())))
        names = [name for name, each in scope if each == kind]
        if names and (depth <= 0 or self.chance(0.4)):
            return self.random.choice(names)
        if depth <= 0 or kind == "field":
            return self.random.choice(LEAVES[kind])
        calls = [each for each in self.functions if each[1] == kind]
        if calls and self.chance(0.25):
            name, _, kinds = self.random.choice(calls)
            return f"({name} {' '.join(self.expr(each, depth - 1, scope) for each in kinds)})"
        if kind == "int" and self.chance(self.looks):
            return self.filled(self.random.choice(LOOKS), kind, depth, scope)
        return self.filled(self.random.choice(ANY if self.chance(0.2) else TEMPLATES[kind]), kind, depth, scope)

    def filled(self, template: str, kind: str, depth: int, scope: Scope) -> str:
        own: dict[str, str] = {}

        def name_of(hole: str) -> str:
            return own.setdefault(hole, self.fresh())

        def fill(match: re.Match[str]) -> str:
            if match[3]:
                return name_of(match[3])
            inside = tuple((name_of(hole), KINDS[hole[0]]) for hole in match[2].split())
            return self.expr(kind if match[1] == "K" else match[1], depth - 1, (*scope, *inside))

        return HOLE.sub(fill, template)
