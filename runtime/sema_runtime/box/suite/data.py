"""The data of the evaluation, the same for the same seed: a shop, its people, their expenses, documents to search."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

Rows = list[dict[str, Any]]
CATEGORIES = ("electronics", "clothing", "food", "books", "toys", "garden")
STATUSES = ("pending", "shipped", "delivered", "delivered", "delivered", "cancelled", "refunded")
DEPARTMENTS = ("engineering", "sales", "support", "finance", "marketing", "legal")
SPENT_ON = ("travel", "meals", "software", "training", "equipment")
TOPICS = ("travel", "security", "payroll", "equipment", "training", "hiring")
ADJECTIVES = ("Quiet", "Solid", "Bright", "Small", "Heavy", "Round", "Swift", "Warm", "Plain", "Sharp")
NOUNS = ("Lamp", "Kettle", "Jacket", "Atlas", "Robot", "Spade", "Radio", "Blanket", "Puzzle", "Basket")
FIRST = ("Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gia", "Hal", "Ines", "Jon", "Kim", "Leo", "Mia", "Noa", "Otto")
LAST = ("Alder", "Birch", "Cedar", "Elm", "Fir", "Hazel", "Larch", "Maple", "Oak", "Pine", "Rowan", "Spruce", "Willow")
MOST_FOUND = 5
WANTED = [
    {"title": "Travel policy 2023", "topic": "travel", "date": "2023-02-01",
     "text": "The daily allowance for travel is 45 euros. Superseded in 2025."},
    {"title": "Travel policy 2025", "topic": "travel", "date": "2025-01-15",
     "text": "The daily allowance for travel is 62 euros. In force."},
    {"title": "Travel policy 2024 draft", "topic": "travel", "date": "2024-06-01",
     "text": "The daily allowance for travel is 58 euros. A draft."},
    {"title": "Home office equipment", "topic": "equipment", "date": "2025-03-01",
     "text": "Remote staff get a stipend of 640 euros for equipment."},
    {"title": "Equipment for the workshop", "topic": "equipment", "date": "2024-03-01",
     "text": "The workshop has a budget for equipment, no stipend."},
    {"title": "Security on the road", "topic": "security", "date": "2025-04-01",
     "text": "Security while on travel: use the tunnel, lock the disk."},
    {"title": "Security of badges abroad", "topic": "security", "date": "2024-11-01",
     "text": "For travel abroad leave badges at home: security."},
    {"title": "Audit of the warehouse", "topic": "security", "date": "2025-05-05",
     "text": "Code of the audit: K-7319. The category concerned is toys."},
    {"title": "Bonus rule", "topic": "payroll", "date": "2025-02-02",
     "text": "Staff hired before 2015 get a bonus of 3 percent of the salary."},
    {"title": "Recall notice", "topic": "equipment", "date": "2025-06-06",
     "text": "Recalled: products of the category garden above 900 euros."},
    {"title": "Budget of departments", "topic": "payroll", "date": "2025-01-01",
     "text": "Limits of expenses: legal 20000, sales 25000, support 30000."},
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Shop:
    """stock: units in the warehouse by the id of a product, which only a tool tells."""

    products: Rows
    orders: Rows
    employees: Rows
    expenses: Rows
    documents: Rows
    stock: dict[int, int]

    def inputs(self) -> dict[str, Rows]:
        """What programs may read; the documents are for the search alone."""
        return {
            "products": self.products,
            "orders": self.orders,
            "employees": self.employees,
            "expenses": self.expenses,
        }

    def tools(self) -> list[Callable[..., Any]]:
        by_id = {document["id"]: document for document in self.documents}

        def search(query: str, limit: int = MOST_FOUND) -> list[dict[str, Any]]:
            """Finds documents with all words of a query, best first: id, title, topic, date. At most 5."""
            words = query.lower().split()

            def has_all(one: dict[str, Any]) -> bool:
                text = f"{one['title']} {one['text']}".lower()
                return all(word in text for word in words)

            def rank(one: dict[str, Any]) -> tuple[int, str]:
                return -sum(one["title"].lower().count(word) for word in words), one["id"]

            ranked = sorted(filter(has_all, self.documents), key=rank)
            kept = ranked[: max(0, min(limit, MOST_FOUND))]
            return [{name: one[name] for name in ("id", "title", "topic", "date")} for one in kept]

        def read_document(id: str) -> dict[str, Any]:
            """Reads a document: id, title, topic, date, text."""
            if id not in by_id:
                raise ValueError(f"there is no document {id!r}")
            return by_id[id]

        def stock_level(product_id: int) -> int:
            """Asks the warehouse how many units of a product it has."""
            if product_id not in self.stock:
                raise ValueError(f"there is no product {product_id}")
            return self.stock[product_id]

        return [search, read_document, stock_level]


def generated(seed: int = 7) -> Shop:
    chance = random.Random(seed)
    products = [product(chance, number) for number in range(1, 501)]
    employees = [employee(chance, number) for number in range(1, 201)]
    return Shop(
        products,
        [order(chance, number, products) for number in range(1, 1_001)],
        employees,
        [expense(chance, number, employees) for number in range(1, 601)],
        documents(chance),
        {row["id"]: chance.randint(0, 400) for row in products},
    )


def product(chance: random.Random, number: int) -> dict[str, Any]:
    return {
        "id": number,
        "name": f"{chance.choice(ADJECTIVES)} {chance.choice(NOUNS)} {number}",
        "category": chance.choice(CATEGORIES),
        "price": number_of_cents(chance, 300, 99_000, number),
        "rating": round(chance.uniform(1, 5), 1),
    }


def number_of_cents(chance: random.Random, least: int, most: int, number: int) -> float:
    """An amount that no other row of the table has: the answer to "the dearest" is one row."""
    return round((chance.randrange(least, most) // 500 * 500 + number % 500) / 100, 2)


def order(chance: random.Random, number: int, products: Rows) -> dict[str, Any]:
    bought = chance.choice(products)
    quantity = chance.randint(1, 5)
    return {
        "id": number,
        "customer": f"c{chance.randint(1, 150)}",
        "product_id": bought["id"],
        "quantity": quantity,
        "total": round(bought["price"] * quantity, 2),
        "status": chance.choice(STATUSES),
        "date": (date(2025, 1, 1) + timedelta(days=chance.randrange(365))).isoformat(),
    }


def employee(chance: random.Random, number: int) -> dict[str, Any]:
    return {
        "id": number,
        "name": f"{chance.choice(FIRST)} {chance.choice(LAST)} {number}",
        "department": chance.choice(DEPARTMENTS),
        "salary": chance.randrange(38_000, 150_000, 1_000) + number,
        "hired": chance.randint(2012, 2025),
        "remote": chance.random() < 0.4,
    }


def expense(chance: random.Random, number: int, employees: Rows) -> dict[str, Any]:
    return {
        "id": number,
        "employee_id": chance.choice(employees)["id"],
        "category": chance.choice(SPENT_ON),
        "amount": round(chance.randrange(500, 180_000) / 100, 2),
        "approved": chance.random() < 0.7,
        "date": (date(2025, 1, 1) + timedelta(days=chance.randrange(365))).isoformat(),
    }


def documents(chance: random.Random) -> Rows:
    """Sixty documents: some that tasks ask for, decoys that look like them, and many others."""
    rows = [{**one, "text": f"{one['title']}. {one['text']}"} for one in WANTED]
    for number in range(1, 50):
        topic = chance.choice(("payroll", "hiring", "training"))
        rows.append(
            {
                "title": f"Minutes {number}: {topic}",
                "topic": topic,
                "date": f"2024-{chance.randint(1, 12):02}-10",
                "text": f"Notes of meeting {number} about {topic}. Nothing was decided.",
            }
        )
    chance.shuffle(rows)
    return [{"id": f"d{number}", **row} for number, row in enumerate(rows, 1)]
