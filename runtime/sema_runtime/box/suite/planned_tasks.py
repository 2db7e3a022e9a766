"""Tasks 25 to 30: several hops, with a plan of the developer."""

from __future__ import annotations

from sema_runtime.box.suite.data import Shop
from sema_runtime.box.suite.tasks import Task, grouped, id_of, members, near, same, total, where

TURNS = 10


def stock_of_toys(shop: Shop) -> int:
    return sum(shop.stock[row["id"]] for row in where(shop.products, category="toys") if row["price"] > 800)


def bonuses(shop: Shop) -> float:
    return total([row for row in shop.employees if row["hired"] < 2015], "salary") * 0.03


def recalled_orders(shop: Shop) -> int:
    recalled = {row["id"] for row in where(shop.products, category="garden") if row["price"] > 900}
    return sum(row["product_id"] in recalled and row["status"] == "delivered" for row in shop.orders)


def departments_over(shop: Shop) -> list[str]:
    departments = {row["id"]: row["department"] for row in shop.employees}
    sums = grouped(where(shop.expenses, approved=True), lambda row: departments[row["employee_id"]], "amount")
    limits = {"legal": 20_000, "sales": 25_000, "support": 30_000}
    return sorted(name for name, limit in limits.items() if sums.get(name, 0.0) > limit)


def travel_days(shop: Shop) -> int:
    """How many days of allowance the approved expenses for travel make."""
    return int(total(where(shop.expenses, category="travel", approved=True), "amount") // 62)


PLANNED = [
    Task(
        25,
        "The audit of the warehouse names a category. How many products of it are there?",
        lambda shop: len(where(shop.products, category="toys")),
        same,
        TURNS,
        ("find the category that the audit names", "count its products"),
    ),
    Task(
        26,
        "How many units does the warehouse have of the products above 800 in the category that the audit names?",
        stock_of_toys,
        same,
        TURNS,
        ("find the category that the audit names", "choose its products above 800", "ask the warehouse for each"),
    ),
    Task(
        27,
        "By the bonus rule, what do all bonuses cost together?",
        bonuses,
        near,
        TURNS,
        ("read the bonus rule", "choose the employees", "compute the sum"),
    ),
    Task(
        28,
        "How many delivered orders are of products that were recalled?",
        recalled_orders,
        same,
        TURNS,
        ("read the recall notice", "choose the products", "count their delivered orders"),
    ),
    Task(
        29,
        "The document on budgets of departments gives limits. Which departments have approved expenses above theirs?"
        " Answer with a list of names.",
        departments_over,
        members,
        TURNS,
        ("read the limits", "sum the approved expenses of each department", "compare"),
    ),
    Task(
        30,
        "How many whole days of the travel allowance in force do the approved expenses for travel make, and which"
        ' document says so? Answer with {"days": number, "document": id}.',
        lambda shop: {"days": travel_days(shop), "document": id_of(shop, "Travel policy 2025")},
        same,
        TURNS,
        ("find the policies", "choose the one in force", "sum the approved expenses for travel", "divide"),
    ),
]
