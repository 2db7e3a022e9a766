# Sourced by the other scripts: goes to the project's folder and keeps its virtual environment up to date.
# shellcheck shell=sh
set -eu
cd "$(dirname "$0")/.."
ROOT=$(pwd)
PYTHON=$ROOT/.venv/bin/python

say() { printf '== %s\n' "$*" >&2; }
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

# find_python MINOR...: prints the first command that really is a Python 3 of one of these minor versions
find_python() {
    for minor in "$@"; do
        for candidate in python3 "python3.$minor" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3."$minor".*/bin/python; do
            if "$candidate" -c "import sys; sys.exit(sys.version_info[:2] != (3, $minor))" 2>/dev/null; then
                printf '%s\n' "$candidate"
                return
            fi
        done
    done
    return 1
}

# make_venv FOLDER PYTHON EXTRAS: creates it, and installs the project in it unless both pyproject.toml are as they were
# then. EXTRAS: empty or [dev,...]
make_venv() {
    stamp=$1/.installed$3
    if cat pyproject.toml runtime/pyproject.toml | cmp -s - "$stamp" && "$1/bin/python" -c 'import semac' 2>/dev/null; then
        return
    fi
    if [ ! -x "$1/bin/python" ]; then
        say "creating $1 with $("$2" --version)"
        "$2" -m venv "$1" || fail "$2 cannot create virtual environments (on Debian: apt install python3-venv)"
    fi
    say "installing semac$3 in $1"
    "$1/bin/python" -m pip install --quiet --disable-pip-version-check --editable ".$3" </dev/null ||
        fail "pip could not install the dependencies"
    cat pyproject.toml runtime/pyproject.toml >"$stamp"
}

# need EXTRAS: the project's own environment, .venv
need() {
    if [ -x .venv/bin/python ]; then
        make_venv .venv .venv/bin/python "$1"
    else
        found=$(find_python 11 12 13 14) || fail "semac needs Python 3.11 or newer; found $(python3 --version 2>&1)"
        make_venv .venv "$found" "$1"
    fi
}

# corpus_folder: prints the folder of the conformance corpus, if there is one: $SEMA_CORPUS or ../shared/conformance
corpus_folder() {
    folder=${SEMA_CORPUS:-../shared/conformance}
    if [ -d "$folder" ]; then (cd "$folder" && pwd); fi
}
