"""What the prompt of agents that write programs says of the language is so."""

from __future__ import annotations

from importlib.resources import files

import pytest

from sema_runtime.box import Pool
from sema_runtime.box.agent.definition import ProgramAgent
from sema_runtime.box.agent.prompt import VERSION, system_text
from sema_runtime.box.suite.data import generated
from sema_runtime.box.toolbox import grants

TEXT = files("sema_runtime.box.agent").joinpath(f"program-{VERSION}.md").read_text(encoding="utf-8")
NAMED = {
    "Lists:": 16,
    "Numbers:": 12,
    "Strings:": 10,
}


@pytest.mark.parametrize(("label", "least"), NAMED.items())
def test_the_functions_that_it_names_are_there(pool: Pool, label: str, least: int) -> None:
    names = TEXT.split(label)[1].split(";")[0].split()
    assert len(names) >= least
    outcome = pool.run(f"(count (list {' '.join(names)}))")
    assert outcome.value == len(names), outcome.message


def test_its_examples_run(pool: Pool) -> None:
    program = """
    (define x 1) (define (f a b) (+ a b)) (define rows (list {:n 1 :name "a"} {:n 2 :name "b"}))
    (define m {:a 1})
    (list (:a m) (get m :a 0) (assoc m :a 2) (keys m) (vals m) (map/entries m) (map/map-vals abs m)
          (->> rows (filter (fn (r) (> (:n r) 1))) (map :name)) (substring "2025-03-04" 0 7)
          (let loop ((i 0) (acc '())) (if (= i 3) acc (loop (+ i 1) (cons i acc))))
          (match {:k 5} ([a b] a) ({:k x} x)) (try (car 5) (catch e (:message e))) (* 1.0 (/ 1 2)))
    """
    outcome = pool.run(program)
    assert outcome.ok, outcome.message
    assert outcome.value[7:10] == [["b"], "2025-03", [2, 1, 0]] and outcome.value[-1] == 0.5


def test_it_is_short_and_stable() -> None:
    shop = generated()
    agent = ProgramAgent(name="a", grants=grants(shop.tools()), data=shop.inputs())
    text = system_text(agent, agent.grants.values())
    assert text == system_text(agent, reversed(list(agent.grants.values())))  # caches of providers know it again
    assert len(text) < 5_000
