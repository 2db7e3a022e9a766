"""Tasks 16 to 24: several programs, tools, documents that must be found and read."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from sema_runtime.box.suite.data import Shop
from sema_runtime.box.suite.tasks import SEVERAL, Task, grouped, highest, id_of, members, near, same, where


def stock_of_dearest(shop: Shop) -> int:
    dearest = sorted(shop.products, key=lambda row: (-row["price"], row["id"]))[:5]
    return sum(shop.stock[row["id"]] for row in dearest)


def best_growth(shop: Shop) -> str:
    """The month whose revenue grew most, in absolute numbers, over the month before."""
    sums = grouped(where(shop.orders, status="delivered"), lambda row: row["date"][:7], "total")
    months = sorted(sums)
    return str(max(pairwise(months), key=lambda pair: sums[pair[1]] - sums[pair[0]])[1])


def affordable(shop: Shop) -> int:
    """How many of the cheapest products 1,000 buys."""
    left, bought = 1_000.0, 0
    for row in sorted(shop.products, key=lambda row: row["price"]):
        if row["price"] > left:
            break
        left, bought = left - row["price"], bought + 1
    return bought


def over_limit(shop: Shop) -> list[int]:
    sums = grouped(where(shop.expenses, approved=False), lambda row: row["employee_id"], "amount")
    return sorted(name for name, amount in sums.items() if amount > 2_000)


def dearest_department(shop: Shop) -> Any:
    departments = {row["id"]: row["department"] for row in shop.employees}
    return highest(grouped(where(shop.expenses, approved=True), lambda row: departments[row["employee_id"]], "amount"))


LONGER = [
    Task(
        16,
        "How many units of the five most expensive products does the warehouse have? Equal prices: lower id first.",
        stock_of_dearest,
        same,
        SEVERAL,
    ),
    Task(
        17,
        "What is the id of the document that says which stipend remote staff get?",
        lambda shop: id_of(shop, "Home office equipment"),
        same,
        SEVERAL,
    ),
    Task(
        18,
        "In which month (as YYYY-MM) did the revenue of delivered orders grow most over the month before, in money?",
        best_growth,
        same,
        SEVERAL,
    ),
    Task(
        19,
        "How many products can be bought with 1,000 if the cheapest are bought first, one of each?",
        affordable,
        same,
        SEVERAL,
    ),
    Task(
        20,
        "What is the daily allowance for travel, in euros, by the policy that is in force? Answer with a number.",
        lambda shop: 62,
        near,
        SEVERAL,
    ),
    Task(
        21,
        "Which documents speak of both security and travel? Answer with a list of their ids.",
        lambda shop: [id_of(shop, title) for title in ("Security on the road", "Security of badges abroad")],
        members,
        SEVERAL,
    ),
    Task(
        22,
        "What is the code of the audit of the warehouse?",
        lambda shop: "K-7319",
        same,
        SEVERAL,
    ),
    Task(
        23,
        "Which department has the highest sum of approved expenses?",
        dearest_department,
        same,
        SEVERAL,
    ),
    Task(
        24,
        "Which employees have more than 2,000 of expenses that aren't approved? List their ids, lowest first.",
        over_limit,
        same,
        SEVERAL,
    ),
]
