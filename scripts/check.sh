#!/bin/sh
# All that CI checks, as `make check` does; the tree must be afterwards what it was before.
set -eu
cd "$(dirname "$0")/.."

tree() { git status --porcelain 2>/dev/null || true; }

before=$(tree)
make --no-print-directory lint types wheel test
after=$(tree)
if [ "$before" != "$after" ]; then
    echo "error: the checks changed the tree; what they make belongs into .gitignore or a temporary folder:" >&2
    echo "$after" >&2
    exit 1
fi
