"""Programs whose spans tests read: a provider in Sema, an agent with a tool, an OpenAI provider."""

from __future__ import annotations

from llm_support import llm as llm
from otel_support import otel as otel
from otel_support import sink as sink

ECHO = """
(llm/define-provider :echo {:complete (fn (req) {:content "hi" :usage {:prompt-tokens 3 :completion-tokens 2}})
                            :default-model "m-1"})
"""
ADDER = """
(deftool add "Adds two numbers" {:a {:type :number} :b {:type :number}} (fn (a b) (+ a b)))
(define turns 0)
(llm/define-provider :player {:default-model "m-2" :complete (fn (req)
  (set! turns (+ turns 1))
  (if (= turns 1) {:content "" :tool-calls [{:id "c1" :name TOOL :arguments {:a 1 :b 2}}]} "three"))})
(agent/run (agent {:name "calc" :tools [add] :system "Count."}) "1 + 2?" OPTIONS)
"""


def adder(tool: str = "add", options: str = "{}") -> str:
    return ADDER.replace("TOOL", f'"{tool}"').replace("OPTIONS", options)


def openai(url: str, rest: str, name: str = "openai") -> str:
    return f'(llm/configure :{name} {{:api-key "sk-0123456789" :base-url "{url}"}})\n{rest}'
