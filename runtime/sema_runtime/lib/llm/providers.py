"""Configuration of providers: keys, defaults, providers written in Sema."""

from __future__ import annotations

from typing import Any

from sema_runtime.capabilities import require
from sema_runtime.catalogue import builtin
from sema_runtime.values.atoms import Keyword, keyword
from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map


def _name(value: Any) -> str:
    if isinstance(value, Keyword):
        return value.name
    if not isinstance(value, str):
        type_error("keyword or string", value)
    return value


@builtin("llm/configure", type="keyword, dict|nil -> nil")
def llm_configure(name: Any, options: Any) -> None:
    """Registers a provider and makes it the default: (llm/configure :openai {:api-key key}).

    Options: :api-key :base-url :default-model (:host for :ollama). Any other name with :api-key and :base-url is an
    OpenAI-compatible server.

    (llm/configure :openai {:api-key "not-a-key" :default-model "gpt-5.5"})
    (llm/configure :local {:api-key "none" :base-url "http://localhost:8000/v1" :default-model "my-model"})
    (llm/current-provider) => {:model "my-model" :name :local}
    """
    from sema_runtime.llm.embedders import CHATLESS, CONFIGURED_MODELS
    from sema_runtime.llm.providers import configure_embeddings, configured_provider, registry
    from sema_runtime.support import options as opt

    if not isinstance(name, Keyword):
        type_error("keyword", name)
    settings = opt.options_map(options)
    base_url = opt.text(settings, "base-url") or (opt.text(settings, "host") if name.name == "ollama" else None) or ""
    _check_host(base_url)
    api_key, model = opt.text(settings, "api-key") or "", opt.text(settings, "default-model") or ""
    if name.name in CHATLESS:
        configure_embeddings(registry(), name.name, api_key, base_url, model or CONFIGURED_MODELS.get(name.name, ""))
    else:
        registry().register_chat(configured_provider(name.name, api_key, base_url, model))


def _check_host(base_url: str) -> None:
    """Raises SemaError for a URL that a sandboxed program may not use. Both kinds of configuration name llm/configure,
    as in the reference."""
    from sema_runtime import capabilities

    if not base_url or not capabilities.restricted():
        return
    from sema_runtime.llm.http import require_public_address
    from sema_runtime.net.addresses import resolves_inside
    from sema_runtime.support.redaction import shown_url
    from sema_runtime.tasks import suspend

    if suspend(resolves_inside(base_url)):
        raise SemaError(
            f"llm/configure: base-url '{shown_url(base_url)}' targets an internal/loopback host, which is"
            " not allowed under the current sandbox",
            "run without sandbox to use a server of this machine",
        )
    require_public_address(base_url)


@builtin("llm/configure-embeddings", type="keyword, dict -> nil")
def llm_configure_embeddings(name: Any, options: Any) -> None:
    """Makes a provider the default of llm/embed, and of llm/rerank if it can rank.

    Options: :api-key :base-url :default-model. Providers: :jina :voyage :cohere :nomic :together :fireworks (which also
    rank), :openai :mistral :gemini, and without a key :ollama and :local, a small model that runs in this process
    (option :path: the folder of another model). Any other name with :base-url speaks OpenAI's format.

    (llm/configure-embeddings :mine {:base-url "http://localhost:8000/v1" :default-model "my-embeddings"})
    (llm/configure-embeddings :voyage {:api-key "not-a-key" :default-model "voyage-3-large"})
    (llm/configure-embeddings :jina {}) ! LLM error: missing :api-key
    """
    from sema_runtime.llm.providers import configure_embeddings, registry
    from sema_runtime.support import options as opt
    from sema_runtime.support.file_access import checked

    if not isinstance(name, Keyword):
        type_error("keyword", name)
    if not isinstance(options, Map | dict):
        type_error("map", options)
    settings = opt.options_map(options)
    base_url = opt.text(settings, "base-url") or opt.text(settings, "host") or ""
    _check_host(base_url)
    path = opt.text(settings, "path") or ""
    if path:
        require("llm/configure-embeddings", "fs-read")
        checked("llm/configure-embeddings", path)
    model = opt.text(settings, "default-model") or opt.text(settings, "model") or ""
    configure_embeddings(registry(), name.name, opt.text(settings, "api-key") or "", base_url, model, path)


@builtin("llm/define-provider", type="keyword, keep dict|nil -> keyword")
def llm_define_provider(name: Any, options: Any) -> Keyword:
    """Registers a provider that is a function, and makes it the default. :complete gets the request as a map and
    returns a string or a map. It is for tests, and for servers with an API of their own.

    :embed gets {:texts :model} and returns a list of embeddings or {:embeddings :usage :model}; :rerank gets {:query
    :documents :model :top-k} and returns a list of {:index :score}. Each makes the provider the default of its kind.

    (llm/define-provider :echo {:complete (fn (req) (:content (last (:messages req)))) :default-model "echo"})
    (llm/complete "hi") => "hi"
    (llm/define-provider :lengths {:embed (fn (req) (map (fn (text) (list (string-length text) 1)) (:texts req)))})
    (embedding/->list (llm/embed "four")) => (4.0 1.0)
    """
    from sema_runtime.llm.providers import Provider, registry
    from sema_runtime.support import options as opt

    if not isinstance(name, Keyword):
        type_error("keyword", name)
    settings = opt.options_map(options)
    complete, embed, rank = (_function(settings, key) for key in ("complete", "embed", "rerank"))
    if complete is None and embed is None and rank is None:
        raise SemaError("llm/define-provider requires :complete function")
    model = opt.text(settings, "default-model") or "default"
    provider = Provider(name.name, "sema" if complete else "embeddings", default_model=model, function=complete)
    registry().define(provider, embed, rank)
    return name


def _function(options: Map, key: str) -> Any:
    """The function under a key, None without one."""
    from sema_runtime.support.options import is_function

    function = options.lookup(keyword(key))
    if function is not None and not is_function(function):
        type_error("function", function)
    return function


@builtin("llm/auto-configure", type="any... -> keyword|nil", arity=(0, -1))
def llm_auto_configure(*_ignored: Any) -> Keyword | None:
    """Registers the providers whose keys are in the environment; returns the default one. The first call does this
    automatically.

    (sys/set-env "OPENAI_API_KEY" "not-a-key")
    (llm/auto-configure) => :openai
    """
    import os

    from sema_runtime.llm.providers import auto_configure, registry

    auto_configure(registry(), os.environ)
    return llm_default_provider()


@builtin("llm/set-default", type="keyword|str -> keyword")
def llm_set_default(name: Any) -> Keyword:
    """Makes a registered provider the default.

    (llm/define-provider :first {:complete (fn (req) "1") :default-model "one"})
    (llm/define-provider :second {:complete (fn (req) "2") :default-model "two"})
    (llm/set-default :first) => :first
    (llm/complete "which?") => "1"
    """
    from sema_runtime.llm.providers import registry

    registry().set_default(_name(name))
    return keyword(_name(name))


@builtin("llm/list-providers", "llm/providers", type="-> list keyword fresh")
def llm_list_providers() -> List:
    """The names of the registered providers, sorted.

    (llm/define-provider :echo {:complete (fn (req) "hi") :default-model "echo"})
    (llm/list-providers) => (:echo :ollama)
    """
    from sema_runtime.llm.providers import registry

    return List([keyword(name) for name in sorted(registry().providers)])


@builtin("llm/current-provider", type="-> map keyword (keyword|str)|nil fresh")
def llm_current_provider() -> Map | None:
    """The default provider as {:name :model}, or nil.

    (llm/define-provider :echo {:complete (fn (req) "hi") :default-model "echo-1"})
    (llm/current-provider) => {:model "echo-1" :name :echo}
    """
    from sema_runtime.llm.providers import registry

    provider = registry().default()
    if provider is None:
        return None
    return Map({keyword("name"): keyword(provider.name), keyword("model"): provider.default_model})


@builtin("llm/default-provider", type="-> keyword|nil")
def llm_default_provider() -> Keyword | None:
    """The name of the default provider, or nil.

    (llm/define-provider :echo {:complete (fn (req) "hi") :default-model "echo-1"})
    (llm/default-provider) => :echo
    """
    from sema_runtime.llm.providers import registry

    provider = registry().default()
    return None if provider is None else keyword(provider.name)
