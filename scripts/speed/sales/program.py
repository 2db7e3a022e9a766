"""Sales analysis: filters, groups, totals and rankings of dicts."""

from collections import defaultdict

REGIONS = ["north", "south", "east", "west"]
PRODUCTS = ["apples", "pears", "plums", "figs", "dates", "limes", "kiwis"]


def sale(i):
    return {
        "id": i,
        "region": REGIONS[i * 7 % 4],
        "product": PRODUCTS[(i * 3 + i // 9) % 7],
        "quantity": 1 + i * 13 % 9,
        "price": 2 + i * 17 % 11,
        "month": 1 + i // 50 % 12,
        "returned": i % 23 == 0,
    }


def revenue(s):
    return s["quantity"] * s["price"]


def total(sales):
    return sum(map(revenue, sales))


def group_by(key, items):
    groups = defaultdict(list)
    for item in items:
        groups[item[key]].append(item)
    return groups


def by_region(sales):
    groups = group_by("region", (s for s in sales if not s["returned"]))
    return {
        region: {"count": len(group), "revenue": total(group), "largest": max(map(revenue, group))}
        for region, group in sorted(groups.items())
    }


def best_product(sales):
    return max((total(group), name) for name, group in group_by("product", sales).items())


def pivot(sales):
    table = defaultdict(lambda: defaultdict(int))
    for s in sales:
        table[s["product"]][s["month"]] += revenue(s)
    return table


def discounted(sales):
    return [{**s, "price": s["price"] - 1, "discount": True} if s["quantity"] > 5 else s for s in sales]


sales = [sale(i) for i in range(150000)]
regional = " ".join(f"{name}={r['count']}/{r['revenue']}/{r['largest']}" for name, r in by_region(sales).items())
amount, name = best_product(sales)
table = pivot(discounted(sales))
print(f'sales: {regional} [{amount} "{name}"] {table["plums"][7]} {sum(table["figs"].values())}')
