"""Plugins: handlers are registered under names in a registry, a text filter runs chains of them."""

transforms = {}
costs = {"upper": 2, "replace": 5, "repeat": 7}


def plugin(name):
    def register(function):
        transforms[name] = function
        return function

    return register


@plugin("upper")
def upper(options, text):
    return text.upper()


@plugin("lower")
def lower(options, text):
    return text.lower()


@plugin("trim")
def trim(options, text):
    return text.strip()


@plugin("replace")
def replace(options, text):
    return text.replace(options["from"], options["to"])


@plugin("prefix")
def prefix(options, text):
    return options["with"] + text


@plugin("repeat")
def repeat(options, text):
    return text * options["times"]


def transform(options, text):
    handler = transforms.get(options["name"])
    if handler is None:
        raise LookupError(f"no plugin :{options['name']}")
    return handler(options, text)


def cost(name):
    return costs.get(name, 1)


def add(a, b):
    return {"kind": "num", "value": a["value"] + b["value"]}


def join(a, b):
    return {"kind": "text", "value": f"{a['value']}{b['value']}"}


def measure(a, b):
    return {"kind": "num", "value": len(a["value"]) + b["value"]}


combiners = {("num", "num"): add, ("num", "text"): join, ("text", "num"): measure}


def combine(a, b):
    combiner = combiners.get((a["kind"], b["kind"]))
    return a if combiner is None else combiner(a, b)


chains = [
    [{"name": "trim"}, {"name": "upper"}, {"name": "prefix", "with": "> "}],
    [{"name": "lower"}, {"name": "replace", "from": "a", "to": "o"}, {"name": "repeat", "times": 2}],
    [{"name": "trim"}, {"name": "prefix", "with": "# "}, {"name": "missing"}],
]


def run_chain(chain, text):
    try:
        for options in chain:
            text = transform(options, text)
        return text
    except LookupError as error:
        return f"failed: {error}"


def process(i):
    chain = chains[i % 3]
    result = run_chain(chain, f"  Item A{i % 100} ")
    return len(result) + sum(cost(options["name"]) for options in chain)


total = sum(process(i) for i in range(40000))
combined = {"kind": "num", "value": 0}
for i in range(1, 50000):
    part = {"kind": "text", "value": "abc"} if i % 3 == 0 else {"kind": "num", "value": i}
    combined = combine(combined, part)
print(f"plugins: {total} :{combined['kind']} {combined['value']} {run_chain(chains[2], 'x')}")
