"""Runs the commands of a page in one shell, and compares what they print with the page.

    python3 .ci/console.py PAGE [--update]

The commands are the lines of ```sh run blocks, and those of ```console run blocks that begin with "$ "; what follows
the latter is their output. Values change from run to run, so of JSON the names and types of all members must be those
of the page. An output that is cut by an ellipsis, or is as on a terminal, is not compared. --update writes the JSON of
the run into the page.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```(sh|console) run\n(.*?)^```$", re.M | re.S)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.M)


def shape(value):
    """Returns the names and types of a value. The items of an array are as the first one."""
    if isinstance(value, dict):
        return {k: shape(v) for k, v in value.items()}
    if isinstance(value, list):
        return [shape(v) for v in value[:1]]
    return "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value).__name__


def differs(page, run):
    """Returns how the shape of a run differs from that of the page, "" if it does not. What may be absent or null may."""
    if isinstance(page, dict) and isinstance(run, dict):
        for name in page.keys() | run.keys():
            if name not in run or name not in page:
                return f"{name} is only in the {'page' if name in page else 'output'}"
            if d := differs(page[name], run[name]):
                return f"{name}: {d}" if ": " not in d else f"{name}.{d}"
        return ""
    if isinstance(page, list) and isinstance(run, list):
        return differs(page[0], run[0]) if page and run else ""
    return "" if page == run or "NoneType" in (page, run) else f"is {page} in the page and {run} in the output"


def values(text):
    """Returns the values of the lines that are JSON."""
    out = []
    for line in text.splitlines():
        if line[:1] in ("{", "["):
            try:
                out.append(json.loads(line))
            except ValueError:
                pass
    return out


def main():
    page, update = pathlib.Path(sys.argv[1]), "--update" in sys.argv[2:]
    text = page.read_text("utf-8")
    commands, script = [], ["set -euo pipefail"]
    with tempfile.TemporaryDirectory() as folder:
        for block in BLOCK.finditer(text):
            if block[1] == "sh":
                script.append(block[2])
                continue
            for c in COMMAND.finditer(block[2]):
                file = f"{folder}/{len(commands)}"
                script.append(f"{{ {c[1]}\n}} > >(tee {file}) && wait $!")
                commands.append((c[1], c[2], file))
        subprocess.run(["bash", "-v", "-c", "\n".join(script)], check=True)
        failed = 0
        for command, want, file in commands:
            got = pathlib.Path(file).read_text("utf-8")
            if "…" in want or not values(want):
                continue
            pairs = list(zip(values(want), values(got)))
            if len(values(want)) != len(values(got)):
                print(f"{page}: {command}\n  prints {len(values(got))} lines of JSON, the page has {len(values(want))}", file=sys.stderr)
                failed += 1
            for of_page, of_run in pairs:
                if d := differs(shape(of_page), shape(of_run)):
                    print(f"{page}: {command}\n  {d}", file=sys.stderr)
                    failed += 1
            if update:
                text = text.replace(f"$ {command}\n{want}", f"$ {command}\n{got}", 1)
        if update:
            page.write_text(text, "utf-8")
        elif failed:
            sys.exit(1)


main()
