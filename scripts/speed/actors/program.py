"""Actors: counters and a bank behind mailboxes, asked through futures."""

import asyncio
from dataclasses import dataclass


class Actor:
    def __init__(self):
        self.mailbox = asyncio.Queue(10)
        self.task = asyncio.create_task(self.run())

    async def run(self):
        while (message := await self.mailbox.get()) is not None:
            self.handle(message)

    async def tell(self, **message):
        await self.mailbox.put(message)

    async def ask(self, **message):
        reply = asyncio.get_running_loop().create_future()
        await self.mailbox.put({**message, "reply": reply})
        return await reply


class Counter(Actor):
    value = 0

    def handle(self, message):
        match message["op"]:
            case "add":
                self.value += message["n"]
            case "reset":
                self.value = 0
            case "get":
                message["reply"].set_result(self.value)


@dataclass
class Balance:
    balance: int = 0
    refused: int = 0


class Account(Actor):
    def __init__(self):
        super().__init__()
        self.state = Balance()

    def handle(self, message):
        state = self.state
        match message:
            case {"op": "deposit", "amount": amount}:
                state.balance += amount
            case {"op": "withdraw", "amount": amount, "reply": reply}:
                if amount > state.balance:
                    state.refused += 1
                    reply.set_result("refused")
                else:
                    state.balance -= amount
                    reply.set_result("ok")
            case {"op": "get", "reply": reply}:
                reply.set_result(state)


async def main():
    counters = [Counter() for _ in range(10)]
    account = Account()
    for i in range(20000):
        await counters[i % 10].tell(op="add", n=i % 13)
        await account.tell(op="deposit", amount=i % 9)
        if i % 3 == 0:
            await account.ask(op="withdraw", amount=i * 7 % 25)
    totals = [await counter.ask(op="get") for counter in counters]
    final = await account.ask(op="get")
    print(f"actors: {sum(totals)} {totals[0]} {final.balance} {final.refused}")


asyncio.run(main())
