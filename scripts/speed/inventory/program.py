"""A warehouse: products updated by orders, errors as exceptions, a summary."""

from collections import Counter
from dataclasses import dataclass


class OrderError(Exception):
    def __init__(self, code):
        super().__init__(code)
        self.code = code


@dataclass
class Product:
    sku: str
    price: int
    stock: int
    reserved: int = 0


@dataclass
class Order:
    id: int
    sku: str
    quantity: int
    kind: str


class Warehouse:
    def __init__(self, n):
        self.products = {f"P{i}": Product(f"P{i}", 5 + i * 13 % 40, 20 + i * 7 % 30) for i in range(n)}
        self.revenue = 0
        self.log = []

    def product(self, sku):
        try:
            return self.products[sku]
        except KeyError:
            raise OrderError("no-such-product") from None

    def buy(self, sku, n):
        p = self.product(sku)
        if p.stock < n:
            raise OrderError("out-of-stock")
        p.stock -= n
        self.revenue += n * p.price

    def restock(self, sku, n):
        self.product(sku).stock += 3 * n

    def reserve(self, sku, n):
        self.buy(sku, n)
        self.products[sku].reserved += n

    def give_back(self, sku, n):
        p = self.product(sku)
        p.stock += n
        self.revenue -= n * p.price

    def apply(self, o):
        try:
            match o.kind:
                case "buy":
                    self.buy(o.sku, o.quantity)
                case "restock":
                    self.restock(o.sku, o.quantity)
                case "reserve":
                    self.reserve(o.sku, o.quantity)
                case "return":
                    self.give_back(o.sku, o.quantity)
        except OrderError as e:
            self.log.append((o.id, e.code))


KINDS = ["restock", "return", "reserve", "buy", "buy", "buy", "buy"]


def order(i):
    return Order(i, f"P{i * 11 % 130}", 1 + i % 5, KINDS[i % 7])


warehouse = Warehouse(120)
for i in range(190000):
    warehouse.apply(order(i))
problems = Counter(code for _, code in warehouse.log)
stock = sum(p.stock for p in warehouse.products.values())
print(
    f"inventory: {warehouse.revenue} {stock} {problems['no-such-product']} {problems['out-of-stock']} "
    f"{warehouse.products['P7'].reserved}"
)
