"""`sema jupyter install`: enters the kernel where Jupyter looks for kernels."""

from __future__ import annotations

import json
import os
import sys
import tempfile

from sema_runtime.support.visible import tell

HELP = """\
Usage: sema jupyter install [--user | --sys-prefix | --prefix FOLDER] [--name NAME]
       sema jupyter uninstall [--name NAME]

  Enter the Sema kernel for Jupyter, so that notebooks offer it.

  --sys-prefix     for this environment of Python; the default within a virtual one
  --user           for you, in all environments; the default elsewhere
  --prefix FOLDER  below FOLDER/share/jupyter
  --name NAME      its directory name, "sema" if not given

  Needs Jupyter: pip install 'semac[jupyter]'
"""


def main(args: list[str]) -> int:
    """Runs `sema jupyter ...` and returns the exit status."""
    from argparse import ArgumentParser

    if not args or args[0] in ("--help", "-h") or args[0] not in ("install", "uninstall"):
        wanted = not args or args[0] in ("--help", "-h")
        print(HELP, end="") if wanted else tell(f"Error: sema jupyter has no command '{args[0]}'\n\n{HELP}")
        return 0 if wanted else 2
    parser = ArgumentParser(f"sema jupyter {args[0]}", add_help=False)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--user", action="store_true")
    where.add_argument("--sys-prefix", action="store_true")
    where.add_argument("--prefix")
    parser.add_argument("--name", default="sema")
    parser.add_argument("-h", "--help", action="store_true")
    options = parser.parse_args(args[1:])
    if options.help:
        print(HELP, end="")
        return 0
    try:
        import ipykernel  # noqa: F401 - the kernel needs it
        from jupyter_client.kernelspec import KernelSpecManager
    except ImportError as error:
        tell(f"Error: sema jupyter needs the package {error.name}\n  hint: pip install 'semac[jupyter]'")
        return 1
    manager = KernelSpecManager()
    if args[0] == "uninstall":
        return remove(manager, options.name)
    within = sys.prefix != sys.base_prefix
    prefix = options.prefix or (sys.prefix if options.sys_prefix or (within and not options.user) else None)
    with tempfile.TemporaryDirectory() as folder:
        write_spec(folder)
        try:
            place = manager.install_kernel_spec(folder, options.name, user=prefix is None, prefix=prefix)
        except OSError as error:
            tell(f"Error: can't install the kernel: {error}\n  hint: --user installs it for you alone")
            return 1
    print(f"Installed the kernel '{options.name}' in {place}")
    return 0


def remove(manager: object, name: str) -> int:
    from jupyter_client.kernelspec import NoSuchKernel

    try:
        place = manager.remove_kernel_spec(name)  # type: ignore[attr-defined]
    except (NoSuchKernel, KeyError):
        tell(f"Error: there is no kernel '{name}'\n  hint: jupyter kernelspec list shows those that there are")
        return 1
    print(f"Removed {place}")
    return 0


def write_spec(folder: str) -> None:
    """Writes kernel.json, which runs this interpreter."""
    spec = {
        "argv": [sys.executable, "-m", "semac.jupyter.kernel", "-f", "{connection_file}"],
        "display_name": "Sema",
        "language": "sema",
        "interrupt_mode": "signal",
        "metadata": {"debugger": False},
    }
    with open(os.path.join(folder, "kernel.json"), "w", encoding="utf-8") as file:
        json.dump(spec, file, indent=1)
