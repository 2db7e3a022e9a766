"""The process and the machine: environment, arguments, shell commands, signals."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

from sema_runtime.capabilities import require
from sema_runtime.catalogue import builtin
from sema_runtime.support.file_access import readable_name, reason
from sema_runtime.support.home import sema_home, settings_directory
from sema_runtime.support.text_arguments import text_of
from sema_runtime.tasks.threads import in_background
from sema_runtime.values.atoms import Keyword, keyword
from sema_runtime.values.errors import IoError, SemaError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

STARTED = time.monotonic_ns()


# Environment


@builtin("env", type="str -> str|nil", cap="env-read")
def env(name: Any) -> str | None:
    """The value of an environment variable, nil when it isn't set.

    (sys/set-env "GREETING" "hello")
    (env "GREETING") => "hello"
    (env "NO_SUCH_VARIABLE") => nil
    """
    try:
        value = os.environ.get(text_of(name))
        if value is not None:
            value.encode()
    except UnicodeEncodeError:  # a name or a value that isn't text
        return None
    return value


@builtin("sys/env-all", type="-> map keyword str fresh", cap="env-read")
def sys_env_all() -> Map:
    """All environment variables as a map with keyword keys.

    (sys/set-env "GREETING" "hello")
    (:GREETING (sys/env-all)) => "hello"
    """
    return Map({keyword(readable_name(name)): readable_name(value) for name, value in os.environ.items()})


@builtin("sys/set-env", type="str, str -> nil", cap="env-write")
def sys_set_env(name: Any, value: Any) -> None:
    """Sets an environment variable of this process and the processes it starts.

    (sys/set-env "GREETING" "hello")
    (env "GREETING") => "hello"
    (string/trim (:stdout (shell "echo $GREETING"))) => "hello"
    """
    try:
        os.environ[text_of(name)] = text_of(value)
    except (OSError, ValueError) as error:
        raise SemaError(f"sys/set-env {name}: {getattr(error, 'strerror', error)}") from None


# Directories


@builtin("sys/cwd", type="-> str", cap="env-read")
def sys_cwd() -> str:
    """The current directory.

    (path/absolute? (sys/cwd)) => #t
    """
    try:
        return readable_name(os.getcwd())
    except OSError as error:  # it has been deleted
        raise IoError(f"sys/cwd: {reason(error)}") from None


@builtin("sys/home-dir", type="-> str", cap="env-read")
def sys_home_dir() -> str:
    """The user's home directory.

    (path/absolute? (sys/home-dir)) => #t
    """
    return os.path.expanduser("~")


@builtin("sys/temp-dir", type="-> str", cap="env-read")
def sys_temp_dir() -> str:
    """The directory for temporary files.

    (file/is-directory? (sys/temp-dir)) => #t
    """
    if os.name == "posix":
        return os.environ.get("TMPDIR") or "/tmp"
    from tempfile import gettempdir

    return gettempdir()


@builtin("sys/sema-home", type="-> str")
def sys_sema_home() -> str:
    """The directory of Sema's packages and settings.

    (path/absolute? (sys/sema-home)) => #t
    """
    return sema_home()


@builtin("sys/config-dir", type="-> str")
def sys_config_dir() -> str:
    """The user's directory for configuration.

    (path/absolute? (sys/config-dir)) => #t
    """
    return settings_directory()


# Machine and user


@builtin("sys/os", type="-> str")
def sys_os() -> str:
    """The operating system: linux, macos, windows, freebsd, android and others.

    (list/contains? '("linux" "macos" "windows") (sys/os)) => #t
    """
    name = sys.platform.rstrip("0123456789")
    return {"darwin": "macos", "win": "windows"}.get(name, name)


@builtin("sys/platform", type="-> str")
def sys_platform() -> str:
    """The operating system: linux, macos, windows or unknown.

    (= (sys/platform) (sys/os)) => #t
    """
    return sys_os() if sys_os() in ("linux", "macos", "windows") else "unknown"


@builtin("sys/arch", type="-> str")
def sys_arch() -> str:
    """The kind of processor: x86_64, aarch64.

    (string? (sys/arch)) => #t
    """
    if hasattr(os, "uname"):
        machine = os.uname().machine
    else:
        from platform import machine as asked

        machine = asked()
    return {"arm64": "aarch64", "AMD64": "x86_64", "i686": "x86", "i386": "x86"}.get(machine, machine)


@builtin("sys/hostname", type="-> str")
def sys_hostname() -> str:
    """The name of this machine.

    (string? (sys/hostname)) => #t
    """
    if hasattr(os, "uname"):
        return readable_name(os.uname().nodename)
    from socket import gethostname

    return gethostname()


@builtin("sys/user", type="-> str|nil", cap="env-read")
def sys_user() -> str | None:
    """The name of the user; nil when the environment doesn't name one.

    ; (sys/user)
    """
    return os.environ.get("USER") or os.environ.get("USERNAME")


# This process


@builtin("sys/args", type="-> list str fresh", cap="process")
def sys_args() -> List:
    """The command line arguments: the program, then `--` and the arguments after it.

    (list? (sys/args)) => #t
    ; (list/reject #(= % "--") (rest (sys/args)))
    """
    from sema_runtime.support.command_line import has_dashes

    dashes = ["--"] if has_dashes else []
    return List([readable_name(arg) for arg in (*sys.argv[:1], *dashes, *sys.argv[1:])])


@builtin("sys/pid", type="-> int", cap="process")
def sys_pid() -> int:
    """The process id of this process.

    (> (sys/pid) 0) => #t
    """
    return os.getpid()


@builtin("sys/elapsed", type="-> int")
def sys_elapsed() -> int:
    """The nanoseconds since the program started.

    (> (sys/elapsed) 0) => #t
    """
    return time.monotonic_ns() - STARTED


@builtin("sys/tty", type="-> str|nil")
def sys_tty() -> str | None:
    """The terminal's device, nil when there is none.

    ; (sys/tty)
    """
    try:
        return os.ttyname(0) if hasattr(os, "ttyname") else None
    except OSError:
        return None


@builtin("sys/interactive?", type="-> bool")
def sys_is_interactive() -> bool:
    """Whether the input is a terminal.

    (bool? (sys/interactive?)) => #t
    """
    return sys.stdin is not None and sys.stdin.isatty()


@builtin("sys/term-size", type="-> map keyword int|nil fresh")
def sys_term_size() -> Map | None:
    """The size of the terminal as `{:rows r :cols c}`; nil when there is none.

    ; (:cols (sys/term-size))
    """
    for descriptor in (1, 2, 0):
        try:
            size = os.get_terminal_size(descriptor)
        except OSError:
            continue
        if size.lines and size.columns:
            return Map({keyword("rows"): size.lines, keyword("cols"): size.columns})
    return None


@builtin("gc/collect", type="-> map keyword int fresh")
def gc_collect() -> Map:
    """Frees unreachable values and returns `{:collected n}`.

    (int? (:collected (gc/collect))) ! Unbound variable: int?
    """
    import gc

    return Map({keyword("collected"): gc.collect()})


@builtin("gc/stats", type="-> map keyword int fresh")
def gc_stats() -> Map:
    """The number of unreachable values freed since the program started, as `{:collected n}`.

    (int? (:collected (gc/stats))) ! Unbound variable: int?
    """
    import gc

    return Map({keyword("collected"): sum(generation["collected"] for generation in gc.get_stats())})


@builtin("sys/interner-stats", type="-> map keyword int fresh")
def sys_interner_stats() -> Map:
    """The number of interned names of symbols and keywords and their size, as `{:bytes b :count n}`.

    (keys (sys/interner-stats)) => (:bytes :count)
    """
    from sema_runtime.values import atoms

    names = {*atoms.SYMBOLS, *atoms.KEYWORDS}
    return Map({keyword("count"): len(names), keyword("bytes"): sum(map(len, map(str.encode, names)))})


@builtin("exit", type="any?, any... -> never", cap="process")
def exit_(code: Any = 0, *_: Any) -> NoReturn:
    """Ends the program with an exit status (default 0); a float is truncated.

    ; (exit 2)
    """
    if type(code) not in (int, float) or code - code != 0:  # also infinities
        type_error("integer", code)
    raise SystemExit(int(code))


# Other programs


@builtin("sys/which", type="str -> str|nil", cap="process")
def sys_which(name: Any) -> str | None:
    """Finds a program on the PATH and returns its path; nil when there is none.

    (string? (sys/which "sh")) => #t
    (sys/which "no-such-program") => nil
    """
    program = text_of(name)
    if os.name != "posix":
        from shutil import which

        return which(program)
    if not program or "\0" in program:
        return None
    for directory in os.environ.get("PATH", os.defpath).split(":"):
        path = os.path.join(directory, program)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return readable_name(path)
    return None


@builtin("shell/quote", type="str -> str", total=True, pure=True)
def shell_quote(text: Any) -> str:
    """Quotes a text as one word for the shell, whatever it contains.

    (shell/quote "it's") => "'it'\\\\''s'"
    (get (shell (str "echo " (shell/quote "$HOME; *"))) :stdout) => "$HOME; *\\n"
    """
    return "'" + text_of(text).replace("'", "'\\''") + "'"


@builtin("shell", type="str, any... -> map keyword (str|int) fresh", cap="shell")
def shell(command: Any, *rest: Any) -> Map:
    """Runs a command and returns `{:stdout text :stderr text :exit-code n}`; other tasks run meanwhile.

    A command alone goes through the shell; with arguments the program is started directly. The last argument may be a
    map of options: :cwd, :env (added to the environment), :stdin (text), :timeout (milliseconds). The exit code is -1
    when a signal ended the program. Cancelling the task, Ctrl-C and the timeout end it and the programs it has started.

    (get (shell "echo out; exit 3") :exit-code) => 3
    (get (shell "printf" "%s" "$HOME") :stdout) => "$HOME"
    """
    require("shell", "process")
    options = rest[-1] if rest and isinstance(rest[-1], Map) else None
    words = [text_of(command), *map(text_of, rest if options is None else rest[:-1])]
    return _run(words if len(words) > 1 else ["/bin/sh", "-c", *words], words[0], options)


def _run(line: list[str], shown: str, options: Map | None) -> Map:
    from sema_runtime.tasks.children import Settings, feed, piped, refusal

    settings = Settings("shell", options)
    timeout = None if options is None else options.lookup(keyword("timeout"))
    if timeout is not None and (type(timeout) not in (int, float) or timeout < 0):
        type_error("non-negative number (:timeout)", timeout)
    stdin = None if options is None else options.lookup(keyword("stdin"))
    data = None if stdin is None else text_of(stdin).encode(errors="surrogateescape")
    # with the terminal of this process only where nothing but Ctrl-C, which the terminal sends to both, may end it
    alone = timeout is not None or "sema_runtime.tasks.scheduler" in sys.modules or not _at_terminal()
    try:
        child = piped(line, settings, with_input=data is not None, alone=alone)
    except (OSError, ValueError) as error:
        raise IoError(refusal("shell", shown, settings, error)) from None
    if data is not None:
        feed(child, data)
    seconds = None if timeout is None else timeout / 1000
    if not in_background(lambda: child.ends_within(seconds), stop=child.kill):
        child.kill()
        raise SemaError(f"shell: timed out after {timeout} ms: {shown}")
    if child.exceeded:
        raise SemaError(f"shell: output exceeded the {child.limit}-byte limit: {shown}")
    out, err = (output.take_text(ended=True) for output in child.outputs)
    return Map({keyword("stdout"): out, keyword("stderr"): err, keyword("exit-code"): child.status()})


def _at_terminal() -> bool:
    """Whether this process may use a terminal, so that a program in its group may too (to ask for a password)."""
    if not hasattr(os, "tcgetpgrp"):
        return False
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


# Signals

SIGNALS = {"winch": "SIGWINCH", "int": "SIGINT", "term": "SIGTERM"}  # their handlers are called in this order

_handlers: dict[str, list[Callable[[], Any]]] = {}
_pending: set[str] = set()


@builtin("sys/on-signal", type="keyword, later (-> any) -> nil", cap="process")
def sys_on_signal(name: Any, handler: Any) -> None:
    """Registers handler for a signal (:int, :term, :winch); the next sys/check-signals after the signal calls it.

    A signal may have several handlers. Each is called once, however often the signal has arrived.

    ; (sys/on-signal :int (fn () (println "interrupted")))
    (sys/on-signal :hup (fn () nil)) ! sys/on-signal: unknown signal :hup; use :winch, :int, or :term
    """
    import signal

    if type(name) is not Keyword:
        type_error("keyword", name)
    if name.name not in SIGNALS:
        raise SemaError(f"sys/on-signal: unknown signal :{name.name}; use :winch, :int, or :term")
    if not callable(handler):
        type_error("function", handler)
    try:
        signal.signal(getattr(signal, SIGNALS[name.name]), lambda *_: _pending.add(name.name))
    except ValueError as error:  # not in the main thread
        raise SemaError(f"sys/on-signal: failed to install signal handler: {error}") from None
    _handlers.setdefault(name.name, []).append(handler)


@builtin("sys/check-signals", type="-> nil", cap="process")
def sys_check_signals() -> None:
    """Calls the handlers of the signals that have arrived since the last call.

    (sys/check-signals) => nil
    """
    due = [name for name in SIGNALS if name in _pending]
    _pending.difference_update(due)
    for handler in [handler for name in due for handler in _handlers[name]]:
        handler()
