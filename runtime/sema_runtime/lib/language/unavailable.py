"""Names of the reference for hardware and browsers that this implementation doesn't support.

Each is bound, so that a program with a branch for them runs as long as it doesn't take the branch; a call says what to
do.
"""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.values.errors import SemaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

REASONS = {  # by the part of the name before the slash: why, and what to do
    "pio": (
        "it makes code for the PIO state machines of a microcontroller",
        "assemble PIO programs with pioasm, from the SDK of the board",
    ),
    "web": (
        "it asks the browser in which a program runs, and there is none",
        "sys/platform and sys/arch tell about this machine",
    ),
}


def _unavailable(name: str) -> NoReturn:
    reason, hint = REASONS[name.partition("/")[0]]
    raise SemaError(f"{name} is not available here: {reason}", hint)


@builtin("pio/assemble", type="any... -> never")
def pio_assemble(*arguments: Any) -> NoReturn:
    """Machine code of a program for a board's PIO state machines. Not available here: a call raises an error."""
    _unavailable("pio/assemble")


@builtin("pio/delay", type="any... -> never")
def pio_delay(*arguments: Any) -> NoReturn:
    """An instruction with wait cycles after it. Not available here: a call raises an error."""
    _unavailable("pio/delay")


@builtin("pio/in", type="any... -> never")
def pio_in(*arguments: Any) -> NoReturn:
    """The instruction that shifts bits in. Not available here: a call raises an error."""
    _unavailable("pio/in")


@builtin("pio/irq", type="any... -> never")
def pio_irq(*arguments: Any) -> NoReturn:
    """The instruction that sets, clears or waits for an interrupt flag. Not available here: a call raises an error."""
    _unavailable("pio/irq")


@builtin("pio/jmp", type="any... -> never")
def pio_jmp(*arguments: Any) -> NoReturn:
    """The instruction that jumps. Not available here: a call raises an error."""
    _unavailable("pio/jmp")


@builtin("pio/mov", type="any... -> never")
def pio_mov(*arguments: Any) -> NoReturn:
    """The instruction that copies. Not available here: a call raises an error."""
    _unavailable("pio/mov")


@builtin("pio/nop", type="any... -> never")
def pio_nop(*arguments: Any) -> NoReturn:
    """The instruction that does nothing. Not available here: a call raises an error."""
    _unavailable("pio/nop")


@builtin("pio/out", type="any... -> never")
def pio_out(*arguments: Any) -> NoReturn:
    """The instruction that shifts bits out. Not available here: a call raises an error."""
    _unavailable("pio/out")


@builtin("pio/pull", type="any... -> never")
def pio_pull(*arguments: Any) -> NoReturn:
    """The instruction that fetches a word from the queue. Not available here: a call raises an error."""
    _unavailable("pio/pull")


@builtin("pio/push", type="any... -> never")
def pio_push(*arguments: Any) -> NoReturn:
    """The instruction that hands a word to the queue. Not available here: a call raises an error."""
    _unavailable("pio/push")


@builtin("pio/set", type="any... -> never")
def pio_set(*arguments: Any) -> NoReturn:
    """The instruction that sets pins or a register. Not available here: a call raises an error."""
    _unavailable("pio/set")


@builtin("pio/side", type="any... -> never")
def pio_side(*arguments: Any) -> NoReturn:
    """An instruction with side-set pins. Not available here: a call raises an error."""
    _unavailable("pio/side")


@builtin("pio/wait", type="any... -> never")
def pio_wait(*arguments: Any) -> NoReturn:
    """The instruction that waits for a pin or a flag. Not available here: a call raises an error."""
    _unavailable("pio/wait")


@builtin("web/user-agent", type="any... -> never")
def web_user_agent(*arguments: Any) -> NoReturn:
    """The name of the browser. Not available here: a call raises an error."""
    _unavailable("web/user-agent")


@builtin("web/user-agent-data", type="any... -> never")
def web_user_agent_data(*arguments: Any) -> NoReturn:
    """What the browser reports about itself, as a map. Not available here: a call raises an error."""
    _unavailable("web/user-agent-data")
