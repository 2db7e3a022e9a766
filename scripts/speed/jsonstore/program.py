"""A store of JSON documents: encoded texts, decoded, queried, updated and encoded again."""

import json
from collections import Counter

TYPES = ["invoice", "order", "note"]
CITIES = ["Oslo", "Rome", "Lima", "Cairo"]


def encode(document):
    return json.dumps(document, separators=(",", ":"))


def make_document(i):
    return {
        "id": i,
        "type": TYPES[i % 3],
        "customer": {"name": f"customer {i % 40}", "address": {"city": CITIES[i % 4], "zip": 1000 + i}},
        "items": [{"sku": f"S{i + k}", "quantity": 1 + k, "price": 10 + i * k % 9} for k in range(1 + i % 4)],
        "paid": i % 5 == 0,
        "tags": [],
    }


def total(document):
    return sum(item["quantity"] * item["price"] for item in document["items"])


def tag(document):
    document["tags"].append("paid" if document["paid"] else "open")
    if total(document) > 60:
        document["tags"].append("large")


def move_to(city, document):
    address = document["customer"]["address"]
    address["city"] = city
    address["zip"] += 5000
    document["moved"] = True


class Store:
    def __init__(self, documents):
        self.texts = {d["id"]: encode(d) for d in documents}

    def update(self, key, change):
        document = json.loads(self.texts[key])
        change(document)
        self.texts[key] = encode(document)

    def step(self, key):
        try:
            d = json.loads(self.texts[key])
        except KeyError:
            return
        if d["type"] == "note":
            self.update(key, tag)
        elif d["customer"]["address"]["city"] == "Rome":
            self.update(key, relocate)
        elif d["paid"]:
            del self.texts[key]
        else:
            self.update(key, lambda d: d.update(total=total(d)))


def relocate(document):
    move_to("Milan", document)
    tag(document)


store = Store(make_document(i) for i in range(4000))
for i in range(10000):
    store.step(i * 7 % 4100)
documents = [json.loads(text) for text in store.texts.values()]
cities = Counter(d["customer"]["address"]["city"] for d in documents)
shown = " ".join(f'"{city}" {n}' for city, n in sorted(cities.items()))
print(
    f"jsonstore: {len(documents)} {sum(map(len, store.texts.values()))} {{{shown}}} "
    f"{sum(len(d['tags']) for d in documents)}"
)
