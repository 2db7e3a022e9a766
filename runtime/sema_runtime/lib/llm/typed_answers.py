"""Answers of language models as data: extraction by schema, classification, comparison, summaries."""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.lib.llm.prompts import string_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@builtin("llm/extract", type="keep any, str, dict? -> map keyword any|list any|str|int|float|bool|nil fresh", cap="llm")
def llm_extract(schema: Any, text: Any, options: Any = None) -> Any:
    """Extracts data from text as a map in the shape of a schema, such as {:amount {:type :number} :note :string}.

    A spec is a type, `[:T]` for a list, or a map with :type :optional :validate :message, :fields of an object,
    :items of a list. Options: :model :max-tokens (4096) :temperature :timeout :validate (#t) :retries (2) :reask? (#t),
    and :mode :native, which makes the provider enforce the schema.

    (define reply "{\\"amount\\": 12.5, \\"note\\": \\"lunch\\"}")
    (llm/define-provider :echo {:complete (fn (req) reply) :default-model "echo"})
    (llm/extract {:amount {:type :number} :note :string} "Lunch for 12.50") => {:amount 12.5 :note "lunch"}
    """
    from sema_runtime.llm.extract import extract
    from sema_runtime.llm.requests import TYPED_OPTIONS, request
    from sema_runtime.support import options as opt

    settings = opt.options_map(options)
    retries = opt.integer(settings, "retries")
    return extract(
        schema,
        string_of(text),
        request([], settings, TYPED_OPTIONS),
        opt.truthy(settings, "validate", True),
        2 if retries is None else retries,
        opt.truthy(settings, "reask?", True),
        opt.is_native("llm/extract", settings),
    )


@builtin(
    "llm/extract-from-image",
    type="keep any, str|bytevector, dict? -> map keyword any|list any|str|int|float|bool|nil fresh",
    cap="llm",
)
def llm_extract_from_image(schema: Any, source: Any, options: Any = None) -> Any:
    """Extracts data from a picture as a map in the shape of a schema. source: the path of a PNG, JPEG, GIF, WebP or PDF
    file, or its bytes. The result is not validated. Options: :model :max-tokens :temperature :timeout :mode, as in
    llm/extract.

    (define reply "{\\"total\\": 12.5}")
    (llm/define-provider :echo {:complete (fn (req) reply) :default-model "echo"})
    (llm/extract-from-image {:total :number} #u8(137 80 78 71)) => {:total 12.5}
    ; (llm/extract-from-image {:total :number :shop :string} "receipt.jpg" {:model "gpt-5.5"})
    """
    from sema_runtime.llm.extract import extract_from_image
    from sema_runtime.llm.pictures import read_picture
    from sema_runtime.llm.requests import TYPED_OPTIONS, request
    from sema_runtime.support import options as opt

    settings = opt.options_map(options)
    native = opt.is_native("llm/extract-from-image", settings)
    image = read_picture("llm/extract-from-image", source)
    return extract_from_image(schema, image, request([], settings, TYPED_OPTIONS), native)


@builtin("llm/classify", type="seq, str, dict? -> keyword|str", cap="llm")
def llm_classify(labels: Any, text: Any, options: Any = None) -> Any:
    """Classifies text: returns the label that the model chooses, as a keyword if it is one of the labels, otherwise the
    text of the reply.

    Options: :model :max-tokens :temperature :timeout.

    (llm/define-provider :echo {:complete (fn (req) "bug") :default-model "echo"})
    (llm/classify [:bug :question :praise] "It crashes when I click") => :bug
    """
    from sema_runtime.llm.extract import classify
    from sema_runtime.llm.requests import TYPED_OPTIONS, request
    from sema_runtime.support.options import options_map

    return classify(labels, string_of(text), request([], options_map(options), TYPED_OPTIONS))


@builtin("llm/summarize", type="str, dict? -> str", cap="llm")
def llm_summarize(text: Any, options: Any = None) -> str:
    """A summary of text. Options: :max-length (words) :style ("bullet-points", "one-line", else a paragraph) :model
    :max-tokens :temperature :timeout.

    (llm/define-provider :echo {:complete (fn (req) "Short.") :default-model "echo"})
    (llm/summarize "A long text" {:max-length 10 :style "one-line"}) => "Short."
    """
    from sema_runtime.llm.extract import summarize
    from sema_runtime.llm.requests import TYPED_OPTIONS, request
    from sema_runtime.support import options as opt

    settings = opt.options_map(options)
    return summarize(
        string_of(text),
        request([], settings, TYPED_OPTIONS),
        opt.integer(settings, "max-length"),
        opt.name_or_text(settings, "style") or "",
    )


@builtin("llm/compare", type="str, str, dict? -> map keyword any|list any|str|int|float|bool|nil fresh", cap="llm")
def llm_compare(first: Any, second: Any, options: Any = None) -> Any:
    """Compares two texts and returns {:similarity :differences :summary}. Options: :model :max-tokens :temperature
    :timeout.

    (define reply "{\\"similarity\\": 0.9, \\"differences\\": [], \\"summary\\": \\"alike\\"}")
    (llm/define-provider :echo {:complete (fn (req) reply) :default-model "echo"})
    (:summary (llm/compare "a cat" "a kitten")) => "alike"
    """
    from sema_runtime.llm.extract import compare
    from sema_runtime.llm.requests import TYPED_OPTIONS, request
    from sema_runtime.support.options import options_map

    return compare(string_of(first), string_of(second), request([], options_map(options), TYPED_OPTIONS))
