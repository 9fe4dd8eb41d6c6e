#!/bin/sh
# Renews constraints.txt, as `make update` does: exact versions for every platform and Python that Ricordo runs on.
set -eu
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
.venv/bin/python -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check uv
# `[tool.uv]` in pyproject.toml names the platforms.
echo pip | "$work/venv/bin/uv" pip compile --quiet --universal --upgrade --python-version 3.11 --group dev \
    --no-header --no-annotate pyproject.toml - --output-file "$work/pins"
{
    echo "# The versions that \`make setup\` installs; renewed by \`make update\`."
    # What holds for every supported Python needs no saying in every line.
    sed -e "s/ and python_full_version < '3.15'//" -e "s/python_full_version < '3.15' and //" \
        -e "s/ ; python_full_version < '3.15'\$//" "$work/pins" | LC_ALL=C sort
} >constraints.txt
echo "constraints.txt is up to date: make setup check"
