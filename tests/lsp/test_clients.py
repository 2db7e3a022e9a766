"""`sema lsp` with the clients of Neovim and Emacs, which others wrote."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from lsp_client import SEMA
from paths import ROOT

EDITORS = ROOT / "semac" / "editors"
WAIT = 240
PROGRAM = "(define (double x) (* 2 x))\n(double   21)\n(println totl)\n"

NEOVIM = """
vim.opt.runtimepath:prepend("{editors}/vim")
vim.cmd("filetype plugin on")
vim.cmd("edit {file}")
local client = vim.lsp.start_client({{ name = "sema", cmd = {{ "{sema}", "lsp" }}, root_dir = "{folder}" }})
vim.lsp.buf_attach_client(0, client)
local out = {{ vim.bo.filetype }}
vim.wait(120000, function() return #vim.diagnostic.get(0) > 0 end, 50)
local function ask(method, line, column, more)
  local document, place = {{ uri = vim.uri_from_bufnr(0) }}, {{ line = line, character = column }}
  local params = {{ textDocument = document, position = place }}
  for name, value in pairs(more or {{}}) do params[name] = value end
  for _, answer in pairs(vim.lsp.buf_request_sync(0, method, params, 120000) or {{}}) do return answer.result end
end
table.insert(out, vim.diagnostic.get(0)[1].message)
table.insert(out, "definition " .. ask("textDocument/definition", 1, 2).range.start.character)
vim.lsp.util.apply_workspace_edit(ask("textDocument/rename", 1, 2, {{ newName = "twice" }}), "utf-16")
table.insert(out, vim.fn.getline(2))
vim.lsp.util.apply_text_edits(ask("textDocument/formatting", 0, 0, {{ options = {{ tabSize = 2 }} }}), 0, "utf-16")
table.insert(out, vim.fn.getline(2))
vim.fn.setline(2, "(string/jo")
table.insert(out, ask("textDocument/completion", 1, 10)[1].label)
vim.fn.writefile(out, "{folder}/out")
vim.cmd("qa!")
"""

EGLOT = """
(package-initialize)
(require 'eglot)
(load "{editors}/emacs/sema-mode.el")
(setq eglot-sync-connect 120 eglot-connect-timeout 180)
(add-to-list 'eglot-server-programs '(sema-mode . ("{sema}" "lsp")))
(find-file "{file}")
(call-interactively 'eglot)
(flymake-mode 1)
(let ((left 600))
  (while (and (> left 0) (null (flymake-diagnostics)))
    (accept-process-output nil 0.1)
    (setq left (1- left))))
(message "found %s" (mapcar #'flymake-diagnostic-text (flymake-diagnostics)))
(search-forward "(dou")
(search-forward "(dou")
(message "defined %s" (mapcar #'xref-item-summary (xref-backend-definitions 'eglot "double")))
(eglot-rename "twice")
(eglot-format-buffer)
(message "text %S" (buffer-substring-no-properties (point-min) (point-max)))
"""


def filled(script: str, folder: Path) -> str:
    file = folder / "prog.sema"
    file.write_text(PROGRAM)
    return script.format(editors=EDITORS, sema=SEMA, folder=folder, file=file)


@pytest.mark.skipif(shutil.which("nvim") is None, reason="needs Neovim")
def test_neovim(tmp_path: Path) -> None:
    (tmp_path / "walk.lua").write_text(filled(NEOVIM, tmp_path))
    command = ["nvim", "--headless", "-u", "NONE", "-c", f"luafile {tmp_path}/walk.lua"]
    subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=WAIT)
    filetype, problem, definition, renamed, formatted, completed = (tmp_path / "out").read_text().splitlines()
    assert (filetype, definition, completed) == ("sema", "definition 9", "string/join")
    assert problem.startswith("Unbound variable: totl")
    assert (renamed, formatted) == ("(twice   21)", "(twice 21)")


def has_eglot() -> bool:
    program = "(progn (package-initialize) (kill-emacs (if (require 'eglot nil t) 0 1)))"
    return (
        shutil.which("emacs") is not None
        and not subprocess.run(["emacs", "--batch", "--eval", program], capture_output=True).returncode
    )


@pytest.mark.skipif(not has_eglot(), reason="needs Emacs 29, or an older one with eglot")
def test_eglot(tmp_path: Path) -> None:
    (tmp_path / "walk.el").write_text(filled(EGLOT, tmp_path))
    command = ["emacs", "--batch", "-l", str(tmp_path / "walk.el")]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=WAIT)
    assert "found (sema [unbound]: Unbound variable: totl" in done.stderr, done.stderr
    assert "defined ((define (double x) (* 2 x)))" in done.stderr
    assert r'text "(define (twice x) (* 2 x))' in done.stderr and "(twice 21)" in done.stderr
