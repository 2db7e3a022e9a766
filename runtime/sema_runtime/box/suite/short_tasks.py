"""Tasks 1 to 15: one program, whose value is the answer."""

from __future__ import annotations

from sema_runtime.box.suite.tasks import Task, grouped, highest, members, near, numbers, same, total, where

SHORT = [
    Task(1, "How many products are there?", lambda shop: len(shop.products), same),
    Task(
        2,
        "How many products are in the category electronics?",
        lambda shop: len(where(shop.products, category="electronics")),
        same,
    ),
    Task(
        3,
        "What is the sum of the totals of all orders?",
        lambda shop: total(shop.orders, "total"),
        near,
    ),
    Task(
        4,
        "What is the average salary in engineering?",
        lambda shop: (
            total(where(shop.employees, department="engineering"), "salary")
            / len(where(shop.employees, department="engineering"))
        ),
        near,
    ),
    Task(
        5,
        "Is there an order with a total above 4,500? Answer true or false.",
        lambda shop: any(row["total"] > 4_500 for row in shop.orders),
        same,
    ),
    Task(
        6,
        "How many products cost more than 500?",
        lambda shop: sum(row["price"] > 500 for row in shop.products),
        same,
    ),
    Task(
        7,
        "How many orders are delivered and have a total above 1,000?",
        lambda shop: sum(row["total"] > 1_000 for row in where(shop.orders, status="delivered")),
        same,
    ),
    Task(
        8,
        "How many orders are cancelled or refunded?",
        lambda shop: len(where(shop.orders, status="cancelled")) + len(where(shop.orders, status="refunded")),
        same,
    ),
    Task(
        9,
        "What is the lowest price of a product?",
        lambda shop: min(row["price"] for row in shop.products),
        near,
    ),
    Task(
        10,
        "What is the name of the employee with the highest salary?",
        lambda shop: max(shop.employees, key=lambda row: row["salary"])["name"],
        same,
    ),
    Task(
        11,
        "List the names of the five employees with the highest salaries, highest first.",
        lambda shop: [row["name"] for row in sorted(shop.employees, key=lambda row: -row["salary"])[:5]],
        same,
    ),
    Task(
        12,
        "List the distinct categories of expenses, in any order.",
        lambda shop: sorted({row["category"] for row in shop.expenses}),
        members,
    ),
    Task(
        13,
        "What is the sum of the totals of orders of products in the category books?",
        lambda shop: total(
            [
                row
                for row in shop.orders
                if row["product_id"] in {one["id"] for one in where(shop.products, category="books")}
            ],
            "total",
        ),
        near,
    ),
    Task(
        14,
        "How many employees does each department have? Answer with a map from department to number.",
        lambda shop: {
            name: len(where(shop.employees, department=name)) for name in {row["department"] for row in shop.employees}
        },
        numbers,
    ),
    Task(
        15,
        "Which customer has the highest sum of totals over their delivered orders?",
        lambda shop: highest(grouped(where(shop.orders, status="delivered"), lambda row: row["customer"], "total")),
        same,
    ),
]
