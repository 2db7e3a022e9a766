"""Response helpers, routes and routers, without a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sema_runtime import capabilities
from sema_runtime.conditions.describe import condition_map
from sema_runtime.values.errors import PermissionDenied, SemaError
from sema_runtime.values.printer import to_text
from semac.session import Session


@pytest.fixture(autouse=True)
def in_own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def open_afterwards(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Takes back what the test restricts."""
    monkeypatch.setattr(capabilities, "denied", set())
    monkeypatch.setattr(capabilities, "allowed", None)
    yield


def run(source: str) -> str:
    return to_text(Session().run(source))


def route(routes: str, method: str, path: str) -> str:
    """What a router gives for a request."""
    request = f'{{:method :{method} :path "{path}" :headers {{}} :query {{}} :params {{}} :body ""}}'
    return run(f"((http/router {routes}) {request})")


# Responses


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("(http/ok {:a [1 nil]})", '{"content-type" "application/json"} 200 "{\\"a\\":[1,null]}"'),
        ("(http/created 'x)", '{"content-type" "application/json"} 201 "\\"x\\""'),
        ("(http/not-found nil)", '{"content-type" "application/json"} 404 "null"'),
        ("(http/error 422 1/2)", '{"content-type" "application/json"} 422 "\\"1/2\\""'),
        ("(http/no-content)", '{} 204 ""'),
        ('(http/redirect "/x")', '{"location" "/x"} 302 ""'),
        ('(http/html "<p>")', '{"content-type" "text/html"} 200 "<p>"'),
        ('(http/text "é")', '{"content-type" "text/plain"} 200 "é"'),
    ],
)
def test_responses(source: str, value: str) -> None:
    assert run(f"(let ((r {source})) (list (:headers r) (:status r) (:body r)))") == f"({value})"


def test_a_response_holds_any_value() -> None:
    assert (
        run("(:body (http/ok (list #\\a math/nan {:f car 1 2})))")
        == '"[\\"#\\\\\\\\a\\",null,{\\"1\\":2,\\"f\\":\\"<native-fn car>\\"}]"'
    )


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ('(http/error "x" 1)', "expected integer, got string"),
        ("(http/redirect 5)", "expected string, got int"),
        ("(http/html nil)", "expected string, got nil"),
        ("(http/text 5)", "expected string, got int"),
        ("(http/stream 42)", "expected function, got int"),
        ("(http/websocket :key)", "expected function, got keyword"),
        ("(http/file 5)", "expected string, got int"),
        ('(http/file "missing.html")', "http/file missing.html: No such file"),
        ('(http/file "x" 5)', "expected string, got int"),
        ("(http/ok)", "http/ok expects 1 argument, got 0"),
        ("(http/no-content 1)", "http/no-content expects no arguments, got 1"),
        ("(http/router 5)", "expected list or vector, got int"),
        ("(http/router [5])", "http/router: each route must be a vector [method path handler]"),
        ('(http/router [[:get "/"]])', "http/router: each route must have exactly 3 elements [method path handler]"),
        ('(http/router [["get" "/" car]])', "expected keyword, got string"),
        ("(http/router [[:get :x car]])", "expected string, got keyword"),
        ('(http/router [[:static "/" 5]])', "http/router: :static route directory must be a string"),
        ('(http/router [[:static "/" "missing"]])', "http/router: static directory 'missing': No such file"),
        ("((http/router []) 5)", "expected map, got int"),
        ("((http/router []) {})", "http/router: request missing :method"),
        ("((http/router []) {:method :get})", "http/router: request missing :path"),
        ('((http/router []) {:method "get" :path "/"})', "expected keyword, got string"),
        ("(route/prefix 5 [])", "expected string, got int"),
        ('(route/prefix "/a" 5)', "expected list or vector, got int"),
        ('(route/prefix "/a" [5])', "route/prefix: each route must be a vector [method pattern handler]"),
        ('(route/prefix "/a" [[:get "/"]])', "route/prefix: each route must have at least 3 elements"),
        ("(tools->routes 5)", "expected list or vector, got int"),
        ("(route/from-tools [5])", "expected tool, got int"),
    ],
)
def test_bad_arguments(source: str, message: str) -> None:
    with pytest.raises(Exception) as failed:
        Session().run(source)
    assert condition_map(failed.value)["message"] == message


def test_files_and_their_types() -> None:
    for name, kind in (
        ("a.html", "text/html"),
        ("b.JS", "application/javascript"),
        ("c.toml", "text/x-toml"),
        ("d.svg", "image/svg+xml"),
        ("e.woff2", "font/woff2"),
        ("f.unknown", "application/octet-stream"),
    ):
        Path(name).write_text("")
        assert run(f'(let ((r (http/file "{name}"))) (list (:__file r) (:__file_content_type r)))') == f'(#t "{kind}")'
        assert run(f'(:__file_path (http/file "{name}"))') == f'"{Path(name).resolve()}"'
    assert run('(:__file_content_type (http/file "a.html" "text/x"))') == '"text/x"'


# Routes


@pytest.mark.parametrize(
    ("pattern", "path", "params"),
    [
        ("/", "/", "{}"),
        ("/", "", "{}"),
        ("/users", "/users/", "{}"),
        ("/users/", "/users", "{}"),
        ("/users/:id", "/users/42", '{:id "42"}'),
        ("/users/:id", "/users/a%20%C3%A9%2Fb", '{:id "a é/b"}'),
        ("/a/:x/b/:y", "/a/1/b/2", '{:x "1" :y "2"}'),
        ("/files/*", "/files/a/b.txt", '{:* "a/b.txt"}'),
        ("/files/*", "/files/", '{:* ""}'),
        ("/files/*", "/files", '{:* ""}'),
        ("/*", "/a/b", '{:* "a/b"}'),
        ("/:kind/*", "/x/y/z", '{:* "y/z" :kind "x"}'),
        ("/é", "/%C3%A9", "{}"),
    ],
)
def test_patterns_that_match(pattern: str, path: str, params: str) -> None:
    assert route(f'[[:get "{pattern}" :params]]', "get", path) == params


@pytest.mark.parametrize(
    ("pattern", "path"),
    [("/users/:id", "/users"), ("/users", "/users/1"), ("/users", "/posts"), ("/a/b", "/a"), ("/a/*", "/b")],
)
def test_patterns_that_do_not_match(pattern: str, path: str) -> None:
    assert route(f'[[:get "{pattern}" :params]]', "get", path) == (
        '{:body "\\"Not Found\\"" :headers {"content-type" "application/json"} :status 404}'
    )


def test_methods() -> None:
    routes = '[[:get "/x" (fn (r) 1)] [:post "/x" (fn (r) 2)] [:any "/y" (fn (r) 3)] [:odd "/x" (fn (r) 4)]]'
    assert [route(routes, method, "/x") for method in ("get", "post")] == ["1", "2"]
    assert {route(routes, method, "/y") for method in ("get", "put", "head", "delete")} == {"3"}
    assert ":status 404" in route(routes, "put", "/x")


def test_the_first_match_wins_and_params_add_up() -> None:
    assert route('[[:get "/:a" :path] [:get "/x" (fn (r) 2)]]', "get", "/x") == '"/x"'
    outer = '[[:any "/:a/*" (http/router [[:get "/x/:b" :params]])]]'
    assert route(outer, "get", "/x/5") == '{:* "5" :a "x" :b "5"}'


def test_prefixes() -> None:
    routes = '(append (route/prefix "/api/" [[:get "/users" (fn (r) 1)]]) (list [:get "/users" (fn (r) 2)]))'
    assert [route(routes, "get", path) for path in ("/api/users", "/users")] == ["1", "2"]
    assert run('(route/prefix "/v1" (list [:static "/a" "dir"]))') == '([:static "/v1/a" "dir"])'


def test_websocket_routes_give_a_marker_with_the_request() -> None:
    found = '(let ((r ((http/router [[:ws "/:room" car]]) {:method :get :path "/7"})))'
    assert run(f"{found} (list (:__websocket r) (= car (:__ws_handler r)) (:params (:__ws_request r))))") == (
        '(#t #t {:room "7"})'
    )
    assert ":status 404" in route('[[:ws "/" car]]', "post", "/")


# Directories


@pytest.fixture
def public(tmp_path: Path) -> Path:
    folder = tmp_path / "public"
    (folder / "sub").mkdir(parents=True)
    (folder / "a b.css").write_text("p {}")
    (folder / "sub" / "index.html").write_text("index")
    (tmp_path / "secret").write_text("secret")
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "inside").symlink_to(folder / "a b.css")
    return folder


STATIC = '[[:static "/s" "public"] [:get "/*" (fn (r) :next)]]'


@pytest.mark.parametrize(
    ("path", "file"),
    [("/s/a%20b.css", "a b.css"), ("/s/sub/", "sub/index.html"), ("/s/sub", "sub/index.html"), ("/s/inside", "inside")],
)
def test_static_files(public: Path, path: str, file: str) -> None:
    for method in ("get", "head"):
        assert f':__file_path "{public / file}"' in route(STATIC, method, path)


@pytest.mark.parametrize("path", ["/s/missing", "/s/", "/s", "/s/%2Fsecret", "/s//secret"])
def test_what_is_no_static_file_is_left_to_the_next_route(public: Path, path: str) -> None:
    assert route(STATIC, "get", path) == ":next"
    assert ":status 404" in route(STATIC, "post", path)


@pytest.mark.parametrize(
    "path", ["/s/../secret", "/s/..%2Fsecret", "/s/%2e%2e/secret", "/s/sub/../../secret", "/s/a%00b"]
)
def test_paths_out_of_the_directory_are_refused(public: Path, path: str) -> None:
    assert route(STATIC, "get", path) == '{:body "Bad Request" :headers {"content-type" "text/plain"} :status 400}'


def test_links_out_of_the_directory_are_refused(public: Path) -> None:
    assert route(STATIC, "get", "/s/link") == '{:body "Forbidden" :headers {"content-type" "text/plain"} :status 403}'


def test_the_sandbox_holds_for_files(public: Path, open_afterwards: None) -> None:
    capabilities.restrict(paths=[str(public)])
    assert ":__file #t" in run('(http/file "public/a b.css")')
    for source in ('(http/file "secret")', '(http/file "public/link")', '(http/router [[:static "/" "."]])'):
        with pytest.raises(PermissionDenied, match="outside allowed directories"):
            run(source)
    capabilities.restrict(["fs-read", "network"])
    for source, needs in (
        ('(http/file "public/a b.css")', "fs-read"),
        (f"(http/router {STATIC})", "fs-read"),
        ("(http/serve car)", "network"),
    ):
        with pytest.raises(PermissionDenied, match=f"requires '{needs}' capability"):
            run(source)


# Tools


TOOLS = """
(deftool add "Adds" {:a {:type :number} :b {:type :number :default 1}} (fn (a b) (+ a b)))
(deftool whole "Takes the body" {:x {:type :string :optional #t}} (fn (body) (count body)))
(define app (http/router (tools->routes [add whole])))
(define (call method path json) (app {:method method :path path :json json}))
"""


@pytest.mark.parametrize(
    ("request_", "status", "body"),
    [
        (':post "/tools/add" {:a 2 :b 3}', 200, "5"),
        (':post "/tools/add" {:a 2}', 200, "3"),
        (':post "/tools/add" nil', 400, '{"error":"missing key: a"}'),
        (':post "/tools/add" {:a "x"}', 400, '{"error":"key a: expected number, got string"}'),
        (':post "/tools/whole" {:x "1"}', 200, "1"),
        (':post "/tools/whole" nil', 200, "0"),
        (':get "/tools/add" nil', 404, '"Not Found"'),
    ],
)
def test_tools_as_routes(request_: str, status: int, body: str) -> None:
    found = run(f"{TOOLS} (let ((r (call {request_}))) (list (:status r) (:body r)))")
    assert found == to_text(Session().run(f"(list {status} {to_text(body)})"))


def test_the_schema_of_a_tool() -> None:
    found = run(f'{TOOLS} (json/decode (:body (call :get "/tools/add/schema" nil)))')
    assert ':name "add"' in found
    assert ':description "Adds"' in found
    assert '{\\"default\\":1,\\"type\\":\\"number\\"}' in found


def test_errors_of_handlers_pass_through_a_router() -> None:
    with pytest.raises(SemaError, match="boom"):
        route('[[:get "/" (fn (r) (error "boom"))]]', "get", "/")
