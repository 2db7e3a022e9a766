"""Whole programs: top-level forms, in an order that may put callers first, and a last form that shows everything."""

from __future__ import annotations

import re
from typing import NamedTuple

from programs import loops
from programs.generator import MOST_WORK, Generator, Impossible, Profile
from programs.kinds import Kind, replaced
from programs.naming import Name
from programs.templates import Template

FORMS = (2, 3, 4, 5, 6, 8)
FEW_FORMS = (1, 1, 1, 1, 2, 2, 3)
DEPTHS = (1, 1, 2, 2, 3, 3, 4)
FLAT = (1, 1, 1, 2, 2, 3)
CAUGHT = (
    "(catch e (list :err (:type e) (:message e)))",
    "(catch e (list :err (:type e) (:message e)))",
    "(catch e (list (:type e) (:value e)))",
    "(catch e (:message e))",
)
BASIC_SHADOWS = (
    "(define (square x) (* x x))",
    "(define (second xs) (nth xs 1))",
    "(define (count xs) (length xs))",
    "(define (last xs) (car (reverse xs)))",
    "(define (take n xs) (if (= n 0) '() (cons (car xs) (take (- n 1) (cdr xs)))))",
    "(define (filter p xs) (foldr (fn (x acc) (if (p x) (cons x acc) acc)) '() xs))",
    "(define (map f xs) (if (null? xs) '() (cons (f (car xs)) (map f (cdr xs)))))",
    "(define (abs x) (if (< x 0) (- 0 x) x))",
    "(define (max a b) (if (> a b) a b))",
    "(define str list)",
)


FRESH = re.compile("[a-z][a-z0-9]*")


class Function(NamedTuple):
    """A function that a program defines, for those who call it from outside."""

    name: str
    kind: Kind


class Program(NamedTuple):
    """source: the text, a form a line; without the last form, `forms` are the definitions alone."""

    source: str
    forms: list[str]
    functions: list[Function]


def program(seed: int, profile: Profile | None = None) -> Program:
    """The program of a seed."""
    return Assembly(seed, profile or Profile()).program()


class Assembly(Generator):
    """Makes one program."""

    def program(self) -> Program:
        forms = self.prelude()
        start = len(forms)
        templates = self.top_templates()
        for _ in range(self.random.choice(FEW_FORMS if self.profile.small else FORMS)):
            forms += self.some_forms(templates)
        if self.chance(0.5):
            forms[start:] = callers_first(forms[start:])
        functions = [Function(name.name, name.kind) for name in self.globals if name.kind[0] == "fn"]
        return Program("\n".join([*forms, self.ending()]), forms, functions)

    def top_templates(self) -> list[Template]:
        """The templates of top-level forms that this program uses, each as often as it is likely."""
        templates = [template for template in self.grammar.top if self.allowed(template)]
        wanted = next((name for name in ("mixed", "states", "daily") if getattr(self.profile, name)), "")
        if wanted and self.chance(0.7):
            templates = [template for template in templates if template.condition.startswith(wanted)]
        templates = self.random.sample(templates, int(len(templates) * self.variety))
        return [template for template in templates for _ in range(template.weight)] or self.grammar.top

    def some_forms(self, templates: list[Template]) -> list[str]:
        try:
            forms = self.recursion() if self.chance(0.35) else self.top(self.random.choice(templates))
        except Impossible:
            return []
        return [*forms, *(self.redefinition() if self.chance(0.06) else ())]

    def prelude(self) -> list[str]:
        forms = [record.definition() for record in self.world.records.values()]
        for kind, record in self.world.records.items():
            self.globals.append(Name(record.maker, ("fn", *(its for _, its, _ in record.fields), kind), work=2))
            self.globals += [Name(reader, ("fn", kind, its), work=2) for _, its, reader in record.fields]
            self.globals.append(Name(record.test, ("fn", "any", "bool"), work=2))
        if "note" in self.features:
            forms.append(self.pick("(define (note x) (println x) x)", '(define (note x) (println "note" x) x)'))
        if "total" in self.features:
            forms.append("(define total 0)")
        if self.chance(0.06):
            forms.append(self.random.choice(BASIC_SHADOWS))
        return forms

    # Forms

    def top(self, template: Template) -> list[str]:
        """Forms made from a template; what they define can be used from now on."""
        self.begin()
        kinds = self.bindings(template, None)
        text, names = self.expanded(
            template, kinds, self.random.choice(FLAT if self.profile.small else DEPTHS), (), self.unique
        )
        forms = [self.enclosed(form) for form in text.split(" // ")]
        for entry in template.defines:
            kind = replaced(entry.kind, kinds)
            work = min(self.work, MOST_WORK) if kind[0] == "fn" else 2
            base = FRESH.match(entry.name)[0]  # type: ignore[index]
            name = names.get(entry.name) or names[base] + entry.name.removeprefix(base)
            self.globals.append(Name(name, kind, entry.assigned, work))
        return forms

    def recursion(self) -> list[str]:
        """A function with a loop, one that calls itself, or two or three that call each other."""
        self.begin()
        kind = self.world.kind(1)
        depth = self.random.choice((1, 2, 3))
        if self.chance(0.5):
            params = [Name(self.unique("a"), self.world.kind(1)) for _ in range(self.random.choice((0, 1, 2)))]
            name = self.unique("f")
            text = loops.named_let(self, kind, depth, tuple(params))
            takes = [param.kind for param in params]
            self.globals.append(Name(name, ("fn", *takes, kind), work=min(self.work, MOST_WORK)))
            return [f"(define ({' '.join([name, *(param.name for param in params)])}) {text})"]
        texts, names, _ = loops.functions(self, kind, depth, self.random.choice((1, 1, 1, 2, 3)))
        self.globals += [name._replace(work=min(self.work, MOST_WORK)) for name in names]
        return texts

    def enclosed(self, form: str) -> str:
        """A form outside of functions, mostly such that an error in it is not the end of the program.

        The reference mixes up variables of a `let` outside of functions once closures capture them: there everything is
        computed in functions, unless wild programs are wanted.
        """
        head, _, rest = form.partition(" ")
        name, _, value = rest.removesuffix(")").partition(" ")
        defines = head == "(define" and name[0] not in "(["
        if not defines and head.startswith("(def"):
            return form
        if not defines:
            value = form
        elif len(value) < 12:
            return form
        if self.chance(0.85):
            value = f"(try {value} (catch e {self.pick('(:message e)', 'nil', '0', chr(39) + '()')}))"
        if not self.profile.wild or self.chance(0.4):
            value = f"((fn () {value}))"
        return f"(define {name} {value})" if defines else value

    def redefinition(self) -> list[str]:
        """A second definition of a function, or an assignment to it: what was defined before calls the new one."""
        made = [name for name in self.globals if name.kind[0] == "fn" and name.work > 2]
        if not made:
            return []
        name = self.random.choice(made)
        position = self.globals.index(name)
        later, self.globals = self.globals[position:], self.globals[:position]  # nothing that could call it
        self.begin()
        params = [Name(f"p{index}", kind) for index, kind in enumerate(name.kind[1:-1])]
        body = self.expr(name.kind[-1], 3, tuple(params))
        self.globals += later
        names = " ".join(param.name for param in params)
        if self.chance(0.6):
            return [f"(define ({' '.join([name.name, *(param.name for param in params)])}) {body})"]
        return [f"(set! {name.name} (fn ({names}) {body}))"]

    def ending(self) -> str:
        """A form that calls every function and shows every global."""
        parts = []
        for name in self.globals:
            self.begin()
            if name.kind[0] == "fn":
                if name.work == 2 and self.chance(0.7):
                    continue
                for _ in range(self.random.choice((1, 1, 2))):
                    parts.append(self.guarded(self.call_of(name)))
            elif name.kind[0] == "promise":
                parts.append(self.guarded(f"(force {name.name})"))
            else:
                parts.append(name.name)
        if self.chance(0.1) and self.globals:
            parts.append(self.call_of(self.random.choice(self.globals)))
        return f"(list {' '.join(parts)})"

    def guarded(self, text: str) -> str:
        return f"(try {text} {self.random.choice(CAUGHT)})"

    def call_of(self, name: Name) -> str:
        if name.kind[0] != "fn":
            return name.name
        args = [self.expr(kind, self.random.choice((0, 0, 1)), ()) for kind in name.kind[1:-1]]
        return f"({' '.join([name.name, *args])})"


def callers_first(forms: list[str]) -> list[str]:
    """The forms with each run of functions turned round: then callers stand before what they call."""
    out: list[str] = []
    run: list[str] = []
    for form in [*forms, ""]:
        if form.startswith("(define ("):
            run.insert(0, form)
        else:
            out += [*run, form]
            run = []
    return out[:-1]
