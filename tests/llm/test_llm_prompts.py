"""Messages, prompts and conversations."""

from __future__ import annotations

import pytest
from llm_support import llm as llm
from llm_support import run

from sema_runtime.values.errors import SemaError
from sema_runtime.values.printer import to_text

pytestmark = pytest.mark.usefixtures("llm")


@pytest.mark.parametrize(
    ("program", "shown"),
    [
        ('(message :user "a" 1 [1 "b"] :k nil)', '<message user "a1[1 "b"]:knil">'),
        ('(type (message :user "a"))', ":message"),
        ('(equal? (message :user "a") (message :user "a"))', "#f"),
        ('(list (message/role (message :tool "a")) (message/content (message :user 1 2)))', '(:tool "12")'),
        ("(prompt)", "<prompt 0 messages>"),
        (
            '(let ((user 5)) (prompt (user "a") (message :system "s") (list "user" (list "x" 1))))',
            "<prompt 3 messages>",
        ),
        ("(prompt/messages (prompt (user)))", '(<message user "">)'),
        ('(list (prompt? (prompt)) (prompt? 1) (message? (message :user "")) (message? 1))', "(#t #f #t #f)"),
        ('(prompt/append (prompt (user "a")) (prompt (user "b")) (prompt))', "<prompt 2 messages>"),
        (
            '(prompt/messages (prompt/set-system (prompt (user "a") (system "x") (system "y")) "z"))',
            '(<message system "z"> <message user "a">)',
        ),
        (
            '(prompt/messages (prompt/fill (prompt (user "{{a}} {{ a }} {{b}} {{a")) {:a [1]}))',
            '(<message user "[1] {{ a }} {{b}} {{a">)',
        ),
        ('(prompt/slots (prompt (system "{{b}}") (user "{{a}} {{}} {{b}}")))', "(:b :a)"),
        ('(prompt/render "{{x}} {{y}}" {:x "1" "y" 2})', '"1 {{y}}"'),
        (
            '(prompt/messages (prompt/union (prompt (user "x") (user "y") (user "x")) (prompt (user "z") (user "y"))))',
            '(<message user "x"> <message user "y"> <message user "z">)',
        ),
        (
            '(prompt/messages (prompt/difference (prompt (user "x") (user "y")) (prompt (user "y"))))',
            '(<message user "x">)',
        ),
        (
            '(prompt/messages (prompt/intersection (prompt (user "x") (user "y")) (prompt (user "y"))))',
            '(<message user "y">)',
        ),
        (
            '(prompt/diff (prompt (user "x")) (prompt (user "y")))',
            '{:added (<message user "y">) :removed (<message user "x">)}',
        ),
    ],
)
def test_prompts(program: str, shown: str) -> None:
    assert to_text(run(program)) == shown


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ('(message :bad "x")', "message: unknown role 'bad'"),
        ('(message "user" "x")', "expected keyword, got string"),
        ("(message :user)", "message expects 2 or more arguments, got 1"),
        ("(prompt 5)", "prompt: expected (role parts) pair or message value"),
        ('(prompt (prompt (user "a")))', "prompt: expected (role parts) pair or message value"),
        ('(prompt (list "weird" (list "a")))', "prompt: unknown role 'weird'"),
        ('(prompt (list :user (list "a")))', "prompt: expected role string"),
        ('(prompt (list "user" ["a"]))', "expected list, got vector"),
        ('(conversation/add-message (conversation/new) :bad "x")', "conversation/add-message: unknown role 'bad'"),
        ("(conversation/last-reply (conversation/new))", "no assistant reply in conversation"),
        ("(conversation/remove (conversation/new) 0)", "conversation/remove: index 0 out of bounds (length 0)"),
    ],
)
def test_errors(program: str, message: str) -> None:
    with pytest.raises(SemaError) as caught:
        run(program)
    assert caught.value.message == message


def test_images_are_recognised() -> None:
    program = """(define (kind . bytes) (message/with-image :user "look" (apply bytevector bytes)))
    (list (kind 137 80 78 71) (kind 255 216 255) (kind 1))"""
    assert [message.images[0].media_type for message in run(program)] == [
        "image/png",
        "image/jpeg",
        "application/octet-stream",
    ]


TALK = """
(define requests '())
(llm/define-provider :fake {:default-model "claude-sonnet-4-6" :complete (fn (req)
  (set! requests (append requests (list req)))
  {:content (str "reply " (length (:messages req))) :usage {:prompt-tokens 1000000 :completion-tokens 0}})})
(define start (conversation/set-system (conversation/new {:model "m" :topic [1]}) "Be brief."))
"""


def test_saying_returns_a_new_conversation() -> None:
    program = """
    (define one (conversation/say start "hi"))
    (define two (conversation/say (conversation/fork one) "more" {:temperature 0.5}))
    (list (map conversation/length (list start one two)) (conversation/last-reply two) (conversation/turns two)
          (conversation/model two) (conversation/models-used two) (:model (first requests))
          (conversation/system two))"""
    assert to_text(run(TALK + program)) == '((1 3 5) "reply 4" 2 "m" ("m") "m" "Be brief.")'


def test_saying_as_somebody_else_keeps_the_stored_instructions() -> None:
    program = """
    (define one (conversation/say-as start (prompt (system "A") (user "no") (system "B")) "hi"))
    (list (:system (first requests)) (map :role (:messages (first requests)))
          (conversation/system one))"""
    assert to_text(run(TALK + program)) == '("A\\nB" ("user") "Be brief.")'


def test_usage_adds_up() -> None:
    program = """
    (define talk (conversation/say (conversation/say (conversation/new) "a") "b"))
    (conversation/stats talk)"""
    assert to_text(run(TALK + program)) == (
        "{:cost 6.0 :messages 4 :models () :tokens {:completion 0 :prompt 2000000 :total 2000000} :turns 2}"
    )


def test_editing() -> None:
    program = """
    (define c (conversation/add-message (conversation/add-message start :user "Hello") :assistant "World"))
    (define (show c) (conversation/map c message/content))
    (list (show (conversation/remove c 0)) (show (conversation/insert c 3 :user "end"))
          (show (conversation/insert c 0 (message :user "top"))) (show (conversation/replace c 1 :user "Bye"))
          (show (conversation/filter c (fn (m) (= (message/role m) :user))))
          (show (conversation/map-role c :user (fn (m) (message :user "<" (message/content m) ">"))))
          (conversation/find c (fn (m) (= (message/content m) "World"))) (conversation/search c "wORL")
          (conversation/token-count c) (conversation/cost c) c)"""
    assert to_text(run(TALK + program)) == (
        '(("Hello" "World") ("Be brief." "Hello" "World" "end") ("top" "Be brief." "Hello" "World")'
        ' ("Be brief." "Bye" "World") ("Hello") ("Be brief." "<Hello>" "World") <message assistant "World">'
        ' ({:content "World" :index 2 :role :assistant}) 5 nil <conversation 3 messages>)'
    )


@pytest.mark.parametrize(
    ("url", "internal"),
    [
        ("http://localhost:1", True),
        ("https://a.localhost", True),
        ("http://127.1/v1", True),
        ("http://2130706433", True),
        ("http://0x7f000001", True),
        ("http://10.0.0.1", True),
        ("http://169.254.1.1", True),
        ("http://[::1]:80", True),
        ("http://[fd00::1]", True),
        ("http://[::ffff:192.168.0.1]", True),
        ("http://", True),
        ("https://api.openai.com/v1", False),
        ("http://8.8.8.8", False),
    ],
)
def test_internal_hosts(url: str, internal: bool) -> None:
    from sema_runtime.net.addresses import is_internal

    assert is_internal(url) is internal
