#!/bin/sh
# Builds the wheel from a source archive and uses it in a new environment outside the repository, as `make wheel` does.
set -eu
cd "$(dirname "$0")/.."

root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore

.venv/bin/python -m build --quiet --outdir "$work/dist" .
.venv/bin/python -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --constraint constraints.txt "$work"/dist/*.whl
cd "$work"
# A user's folder has modules of everybody's names, and Python looks there first.
for name in tools graph stores nodes cli readers evals; do echo 'raise SystemExit("error: not the package")' >$name.py; done
"$work/venv/bin/python" - "$root" <<'EOF'
"""Import every module of the installed packages, and compare the wheel's files with the repository's."""
import importlib
import sys
from importlib.metadata import files
from pathlib import Path

root = Path(sys.argv[1])
shipped = {str(file) for file in files("ricordo") or [] if ".dist-info" not in str(file)}
shipped = {name for name in shipped if not name.startswith("..")}
if strangers := {name.partition("/")[0] for name in shipped} - {"ricordo"}:
    sys.exit(f"error: the wheel holds more than ricordo: {', '.join(sorted(strangers))}")
shipped = {name for name in shipped if name.endswith((".py", ".sql"))}
there = {str(f.relative_to(root)) for kind in ("py", "sql") for f in (root / "ricordo").rglob(f"*.{kind}")}
if missing := sorted(there - shipped):
    sys.exit(f"error: not in the wheel: {', '.join(missing)}")
for name in sorted(shipped):
    if name.endswith(".py"):
        module = importlib.import_module(name.removesuffix("/__init__.py").removesuffix(".py").replace("/", "."))
        if module.__file__ and root in Path(module.__file__).parents:
            sys.exit(f"error: {name} was imported from the repository")
print(f"The wheel holds {len(shipped)} files, and every module of it can be imported.")
EOF
"$work/venv/bin/ricordo" --version
