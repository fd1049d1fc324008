"""Checks a wheel and a source archive as an index would, and runs the example of the readme against the dev venue.

    python3 test_package.py WHEEL ARCHIVE README LINE...

LINEs are what the example prints.
"""

import email.parser
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import zipfile


def main():
    wheel, archive, readme, *lines = sys.argv[1:]
    package = pathlib.Path(wheel).name.partition("-")[0]
    with zipfile.ZipFile(wheel) as z, tarfile.open(archive) as tar:
        names = z.namelist()
        info = next(n for n in names if n.endswith(".dist-info/METADATA"))
        stem = info.removesuffix(".dist-info/METADATA")
        inner = {m.name for m in tar.getmembers()}
        for text in (z.read(info).decode(), tar.extractfile(f"{stem}/PKG-INFO").read().decode()):
            m = email.parser.Parser().parsestr(text)
            want = {"Name": package.replace("_", "-"), "License-Expression": "Apache-2.0", "License-File": "LICENSE", "Description-Content-Type": "text/markdown", "Requires-Python": ">=3.11"}
            assert {k: m[k] for k in want} == want, m.items()
            assert m.get_payload() == pathlib.Path(readme).read_text("utf-8"), "the description is not the readme"
        assert b"Apache License" in z.read(f"{stem}.dist-info/licenses/LICENSE")
        record = {line.split(",")[0] for line in z.read(f"{stem}.dist-info/RECORD").decode().splitlines()}
        assert record == set(names), record ^ set(names)
        modules = {p.relative_to(pathlib.Path(readme).parent).as_posix() for p in pathlib.Path(readme).parent.glob(f"{package}/*") if p.is_file()}
        assert modules == {n for n in names if n.startswith(f"{package}/")}, names
        assert {f"{stem}/{n}" for n in modules | {"LICENSE", "README.md", "pyproject.toml", "wheel_backend.py"}} <= inner, inner
        assert all(m.isfile() or m.isdir() for m in tar.getmembers()), "a link leads out of the archive"
    example = re.search(r"```python\n(.*?)```", pathlib.Path(readme).read_text("utf-8"), re.S)[1]
    dev = json.loads(pathlib.Path(os.environ["DX_DEV_FILE"]).read_text("utf-8"))
    a = next(a for a in dev["accounts"] if a["name"] == "treasurer")
    env = {**os.environ, "PYTHONPATH": wheel, "DX_URL": dev["api"], "DX_KEY": a["api_key"], "DX_SECRET": a["secret"]}
    for _ in range(2):
        out = subprocess.run([sys.executable, "-c", example], env=env, check=True, capture_output=True, text=True).stdout
        assert out.splitlines() == lines, out
    print("the package is sound, and the example of its readme runs")


main()
