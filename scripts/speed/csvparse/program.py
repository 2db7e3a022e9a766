"""CSV with quotes: a state machine over characters, rows to dicts, totals per column, and back to text."""


def parse_csv(text):
    rows = []
    row = []
    field = []
    state = "start"
    for c in text:
        if state == "quoted":
            if c == '"':
                state = "quote"
            else:
                field.append(c)
            continue
        if state == "quote" and c == '"':
            field.append(c)
            state = "quoted"
        elif c == ",":
            row.append("".join(field))
            field = []
            state = "start"
        elif c == "\n":
            row.append("".join(field))
            rows.append(row)
            field = []
            row = []
            state = "start"
        elif state == "start" and c == '"':
            state = "quoted"
        else:
            field.append(c)
            state = "plain"
    if field or row:
        row.append("".join(field))
        rows.append(row)
    return rows


def rows_to_dicts(rows):
    header, *others = rows
    return [dict(zip(header, row, strict=True)) for row in others]


def needs_quotes(text):
    return "," in text or '"' in text or "\n" in text


def write_field(text):
    if needs_quotes(text):
        return '"' + text.replace('"', '""') + '"'
    return text


def write_csv(rows):
    return "\n".join(",".join(map(write_field, row)) for row in rows)


def line(i):
    return [
        str(i),
        f"Smith, J{i}" if i % 3 == 0 else f"Jones{i}",
        'said "no"' if i % 5 == 0 else "fine",
        f"{i * 37 % 1000}.{i % 10}",
    ]


text = write_csv([["id", "name", "note", "amount"], *map(line, range(28000))])
people = rows_to_dicts(parse_csv(text))
amount = sum(float(p["amount"]) for p in people)
noted = sum('"' in p["note"] for p in people)
same = "#t" if write_csv(parse_csv(text)) == text else "#f"
print(f"csvparse: {len(people)} {amount:.2f} {noted} {people[33]['name']} {same}")
