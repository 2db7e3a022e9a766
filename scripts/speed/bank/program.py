"""Bank accounts as objects; errors are exceptions."""

from collections import Counter


class BankError(Exception):
    def __init__(self, code):
        super().__init__(code)
        self.code = code


class Account:
    def __init__(self, owner, balance):
        self.owner = owner
        self.balance = balance
        self.history = []

    def deposit(self, amount):
        if amount <= 0:
            raise BankError("bad-amount")
        self.balance += amount
        self.history.append(("deposit", amount))
        return self.balance

    def withdraw(self, amount):
        if amount > self.balance:
            raise BankError("insufficient")
        self.balance -= amount
        self.history.append(("withdraw", amount))
        return self.balance

    def interest(self, rate):
        return self.deposit(1 + self.balance * rate // 10000000)


def transfer(source, target, amount):
    source.withdraw(amount)
    target.deposit(amount)


accounts = [Account(f"owner-{i}", 500 + 50 * i) for i in range(20)]


def account(i):
    return accounts[i % 20]


def day(i):
    try:
        transfer(account(i * 7), account(i + 3), i * 37 % 260)
        if i % 10 == 0:
            account(i).interest(5)
    except BankError as e:
        return e.code
    return "ok"


def run(days):
    results = Counter()
    for i in range(1, days + 1):
        results[day(i)] += 1
    return results


results = run(200000)
richest = max(accounts, key=lambda a: a.balance)
try:
    account(1).close()
except AttributeError:
    unknown = "unknown message :close"
print(
    f"bank: {results['ok']} {results['insufficient']} {results['bad-amount']} "
    f"{richest.owner} {sum(a.balance for a in accounts)} {len(richest.history)} {unknown}"
)
