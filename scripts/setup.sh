#!/bin/sh
# Makes .venv with everything that Ricordo needs, as `make setup` does; does nothing when all is up to date.
# PYTHON names the interpreter to use; without it, the first suitable one on the PATH is taken.
set -eu
cd "$(dirname "$0")/.."

venv=.venv
stamp=$venv/.ricordo-setup

say() { printf '%s\n' "$*" >&2; }
fail() { say "error: $*"; exit 1; }

version_of() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null; }
is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }
can_make_environments() { "$1" -c 'import ensurepip, venv' 2>/dev/null; }

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        version=$(version_of "$PYTHON") || fail "PYTHON=$PYTHON is no Python that runs. Give the path of Python 3.11 or newer."
        is_new_enough "$PYTHON" || fail "Ricordo needs Python 3.11 or newer, and PYTHON=$PYTHON is $version."
        can_make_environments "$PYTHON" || without_venv "$PYTHON" "$version"
        python=$PYTHON
        return
    fi
    seen= incomplete=
    for candidate in python3 python3.13 python3.12 python3.11 python3.14 python; do
        version=$(version_of "$candidate") || continue
        if ! is_new_enough "$candidate"; then
            seen="$seen $candidate is $version;"
        elif ! can_make_environments "$candidate"; then
            incomplete=${incomplete:-"$candidate $version"}
        else
            python=$candidate
            return
        fi
    done
    # shellcheck disable=SC2086 # two words on purpose
    [ -z "$incomplete" ] || without_venv $incomplete
    fail "Ricordo needs Python 3.11 or newer, and there is none on the PATH (${seen:- no Python at all;} see" \
        "https://www.python.org/downloads). If one lies elsewhere: make setup PYTHON=/path/to/python3"
}

without_venv() {
    fail "$1 ($2) has no venv and ensurepip, which the set-up needs. On Debian and Ubuntu: apt install python$2-venv." \
        "Or use another Python: make setup PYTHON=/path/to/python3"
}

is_up_to_date() {
    [ "$stamp" -nt pyproject.toml ] && [ "$stamp" -nt constraints.txt ] && [ -x $venv/bin/ricordo ] || return 1
    # Scripts name the folder they were made in: after a move they point nowhere.
    [ "$(cat $stamp)" = "$PWD" ] && $venv/bin/python -c '' 2>/dev/null || return 1
    [ -z "${PYTHON:-}" ] || [ "$(version_of "$PYTHON")" = "$(version_of $venv/bin/python)" ]
}

is_usable() {
    is_new_enough $venv/bin/python && $venv/bin/python -m pip --version >/dev/null 2>&1 || return 1
    [ ! -e $stamp ] || [ "$(cat $stamp)" = "$PWD" ] || return 1
    [ -z "${PYTHON:-}" ] || [ "$(version_of "$PYTHON")" = "$(version_of $venv/bin/python)" ]
}

if is_up_to_date; then
    exit 0
fi
if ! is_usable; then
    find_python
    say "Making $venv with $python ($version)."
    "$python" -m venv --clear $venv
fi
rm -f $stamp

# Settings of a user's own pip that would send the packages elsewhere.
export PIP_USER=0 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
unset PIP_TARGET PIP_PREFIX PIP_REQUIRE_VIRTUALENV PYTHONPATH PYTHONHOME

say "Installing Ricordo's packages: the first time this takes a minute or two."
$venv/bin/python -m pip install --quiet --constraint constraints.txt pip
$venv/bin/python -m pip install --quiet --constraint constraints.txt --build-constraint constraints.txt \
    --group dev --editable .
printf '%s' "$PWD" >$stamp
say "Ready: make chat, or $venv/bin/ricordo --help."
