"""`sema new`: a project that tests, formats and packages itself."""

from __future__ import annotations

import os
import shutil
import subprocess

import click

from semac.cli.common import SETTINGS, failed, standalone
from semac.project.skeleton import TEMPLATES, NotPossible, create, package_of


def main(args: list[str]) -> int:
    """Runs `sema new ARGS` and returns the exit status."""
    return standalone(new_command, args)


@click.command("sema new", context_settings=SETTINGS)
@click.argument("name", type=click.Path(), metavar="NAME")
@click.option("--template", type=click.Choice(list(TEMPLATES)), default="agent", help="What it starts from. [agent]")
@click.option("--no-git", is_flag=True, help="Don't make it a git repository.")
def new_command(name: str, template: str, no_git: bool) -> int:
    """Make a project in the folder NAME, which may not hold anything yet; "." stands for the current folder.

    A project has a package with .sema files and a command, tests, pyproject.toml with the build hook, files for GitHub
    Actions, VS Code and git, and AGENTS.md for coding agents.

    \b
    Templates:
      agent      an agent with two tools, and tests in which a stand-in plays the model
      library    functions to import from Sema and Python, and a command
      workflow   a workflow that resumes where it stopped, and a command
      script     one file and its test, no package

    \b
    Examples:
      sema new shop
      sema new tools/counter --template library
    """
    folder = os.path.normpath(name)
    project = os.path.basename(os.path.abspath(folder))
    try:
        written = create(folder, project, template)
    except NotPossible as error:
        return failed(str(error))
    if not no_git:
        make_repository(folder)
    print(f"Created {folder} ({len(written)} files, template {template})\n\nNext:")
    if folder != os.curdir:
        print(f"  cd {folder}")
    if template == "script":
        print("  sema test\n  sema main.sema")
    else:
        print(f"  sema test\n  sema run -m {package_of(project)}")
        print('  pip install --editable ".[dev]"')
    return 0


def make_repository(folder: str) -> None:
    """Makes a git repository of a folder, unless it is in one or git is not there."""
    git = shutil.which("git")
    if git is None:
        return
    inside = subprocess.run([git, "-C", folder, "rev-parse", "--is-inside-work-tree"], capture_output=True)
    if inside.returncode:
        subprocess.run([git, "-C", folder, "init", "--quiet", "--initial-branch=main"], capture_output=True)
