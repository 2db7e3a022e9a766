"""Which provider answers: configuration, defaults, providers written in Sema."""

from __future__ import annotations

from typing import Any

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


@builtin("llm/configure", returns="nil")
def llm_configure(name: Any, options: Any) -> None:
    """Registers a provider and makes it the default: (llm/configure :openai {:api-key key}).

    Options: :api-key :base-url :default-model (:host for :ollama). Any other name with :api-key and :base-url is an
    OpenAI-compatible server.

    (llm/configure :openai {:api-key "not-a-key" :default-model "gpt-5.5"})
    (llm/configure :local {:api-key "none" :base-url "http://localhost:8000/v1" :default-model "my-model"})
    (llm/current-provider) => {:model "my-model" :name :local}
    """
    from sema_runtime.llm import options as opt
    from sema_runtime.llm.providers import configured, registry

    if not isinstance(name, Keyword):
        type_error("keyword", name)
    given = opt.options_map(options)
    base_url = opt.text(given, "base-url") or (opt.text(given, "host") if name.name == "ollama" else None) or ""
    _check_host(base_url)
    provider = configured(name.name, opt.text(given, "api-key") or "", base_url, opt.text(given, "default-model") or "")
    registry().register(provider, make_default=True)


def _check_host(base_url: str) -> None:
    from sema_runtime import capabilities
    from sema_runtime.llm.hosts import is_internal

    if base_url and capabilities.restricted() and is_internal(base_url):
        raise SemaError(
            f"llm/configure: base-url '{base_url}' targets an internal/loopback host, which is not allowed under the"
            " current sandbox"
        )


@builtin("llm/define-provider", returns="keyword")
def llm_define_provider(name: Any, options: Any) -> Keyword:
    """Registers a provider that is a function, and makes it the default: :complete gets the request as a map and
    returns a string or a map. For tests, and for servers with an API of their own.

    (llm/define-provider :echo {:complete (fn (req) (:content (last (:messages req)))) :default-model "echo"})
    (llm/complete "hi") => "hi"
    """
    from sema_runtime.llm import options as opt
    from sema_runtime.llm.providers import Provider, registry

    if not isinstance(name, Keyword):
        type_error("keyword", name)
    given = opt.options_map(options)
    function = given.lookup(keyword("complete"))
    if function is None:
        raise SemaError("llm/define-provider requires :complete function")
    if not callable(function):
        type_error("function", function)
    model = opt.text(given, "default-model") or "default"
    registry().register(Provider(name.name, "sema", default_model=model, function=function), make_default=True)
    return name


@builtin("llm/auto-configure", returns="keyword|nil", arity=(0, -1))
def llm_auto_configure(*_ignored: Any) -> Keyword | None:
    """Registers the providers whose keys are in the environment; returns the default one. Happens by itself before the
    first call.

    (sys/set-env "OPENAI_API_KEY" "not-a-key")
    (llm/auto-configure) => :openai
    """
    import os

    from sema_runtime.llm.providers import auto_configure, registry

    auto_configure(registry(), os.environ)
    return llm_default_provider()


@builtin("llm/set-default", returns="keyword")
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


@builtin("llm/list-providers", "llm/providers", returns="list[keyword]")
def llm_list_providers() -> List:
    """The names of the registered providers, sorted.

    (llm/define-provider :echo {:complete (fn (req) "hi") :default-model "echo"})
    (llm/list-providers) => (:echo :ollama)
    """
    from sema_runtime.llm.providers import registry

    return List([keyword(name) for name in sorted(registry().providers)])


@builtin("llm/current-provider", returns="map|nil")
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


@builtin("llm/default-provider", returns="keyword|nil")
def llm_default_provider() -> Keyword | None:
    """The name of the default provider, or nil.

    (llm/define-provider :echo {:complete (fn (req) "hi") :default-model "echo-1"})
    (llm/default-provider) => :echo
    """
    from sema_runtime.llm.providers import registry

    provider = registry().default()
    return None if provider is None else keyword(provider.name)
