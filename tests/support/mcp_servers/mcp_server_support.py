"""What the tests of `sema mcp` share: the program that is served, and sessions of the official client."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

SERVE = [sys.executable, "-m", "semac.cli.entry", "mcp"]
TOOLS = """
(println "loading")
(define shared 1)
(deftool add "Adds" {:a {:type :number :description "first"} :b {:type :int :optional #t}} (fn (a b) (+ a (or b 1))))
(deftool send! "Sends" {:to {:type :keyword :enum [:ann :bob]} :words [:string]} (fn (to words) {:to to :words words}))
(deftool _hidden "" {} (fn () 1))
(deftool private "" {:private #t} (fn () 1))
(deftool unexposed "" {:mcp/expose #f} (fn () 1))
(deftool count "Counts" {:n {:type :int}} (fn (n) (for-range (i 0 n) (println "step" i) (sleep 50)) nil))
(deftool forever "Never ends" {} (fn () (let loop () (loop))))
(deftool wait "Waits" {} (fn () (sleep 60000)))
(deftool boom "Fails" {} (fn () (error "no way")))
"""
WORKFLOW = """
(println "starting")
(defworkflow greet "Greets people"
  {:phases ["greet"] :args {:names {:type [:string]} :slow {:type :bool :optional #t}}}
  (phase "greet")
  (map (fn (name)
         (checkpoint name (begin (if (and (:slow *workflow-args*) (= name "b") (not (file/exists? "go"))) (sleep 60000))
                                 (file/append "log" name)
                                 (str "hello " name))))
       (:names *workflow-args*)))
"""


def session(folder: Path, tour: Callable[[Client], Awaitable[None]], *arguments: str) -> None:
    """Runs a tour with a client that has started `sema mcp ARGUMENTS` in a folder."""

    problems: list[BaseException] = []

    async def run() -> None:
        server = StdioServerParameters(command=SERVE[0], args=[*SERVE[1:], *arguments], cwd=folder)
        async with Client(stdio_client(server)) as client:
            try:
                await tour(client)
            except Exception as problem:  # the client would wrap it in groups
                problems.append(problem)

    asyncio.run(run())
    for problem in problems:
        raise problem


async def call(client: Client, tool: str, **arguments: Any) -> str:
    """The text of a tool's result; of one that is an error, with `ERROR ` before it."""
    result = await client.call_tool(tool, arguments)
    text = "".join(item.text for item in result.content)  # type: ignore[union-attr]
    return f"ERROR {text}" if result.is_error else text
