"""Templates with {{name}}, {{#each}} and filters, parsed once into tuples and rendered with dicts."""


def parse_tag(text):
    if text.startswith("#each "):
        return ("each", text[6:])
    if text == "/each":
        return ("end",)
    name, *names = (part.strip() for part in text.split("|"))
    return ("value", name, names)


def tokenize(template):
    out = []
    at = 0
    while (start := template.find("{{", at)) >= 0:
        end = template.index("}}", start)
        out.append(("text", template[at:start]))
        out.append(parse_tag(template[start + 2 : end].strip()))
        at = end + 2
    out.append(("text", template[at:]))
    return out


def parse(tokens):
    out = []
    for token in tokens:
        match token:
            case ("end",):
                break
            case ("each", name):
                out.append(("each", name, parse(tokens)))
            case _:
                out.append(token)
    return out


FILTERS = {
    "upper": str.upper,
    "trim": str.strip,
    "escape": lambda s: s.replace("&", "&amp;").replace("<", "&lt;"),
    "money": lambda s: f"{float(s):.2f}",
}


def render(nodes, data):
    out = []
    for node in nodes:
        match node:
            case ("text", text):
                out.append(text)
            case ("value", name, names):
                text = str(data.get(name, ""))
                for filter_name in names:
                    text = FILTERS[filter_name](text)
                out.append(text)
            case ("each", name, body):
                out += [render(body, {**data, **item}) for item in data.get(name, [])]
    return "".join(out)


PAGE = (
    "Dear {{ name | upper }},\n"
    "{{#each lines}}{{ n }} x {{ item | escape | trim }} at {{ price | money }} for {{ name }}\n{{/each}}"
    "Total: {{ total | money }}{{ missing }}\n"
)


def customer(i):
    return {
        "name": f"customer {i}",
        "total": i * 3,
        "lines": [{"n": k + 1, "item": f" <item> & {k} ", "price": k + 0.5} for k in range(i % 6)],
    }


nodes = parse(iter(tokenize(PAGE)))
letters = [render(nodes, customer(i)) for i in range(25000)]
print(f"template: {len(nodes)} {sum(map(len, letters))} {letters[8].replace(chr(10), '/')}")
