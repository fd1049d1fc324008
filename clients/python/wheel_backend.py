"""Builds the wheel and the source archive of a package, so that building needs nothing besides Python."""

import base64
import hashlib
import io
import os
import pathlib
import tarfile
import tomllib
import zipfile

HERE = pathlib.Path(__file__).parent
WHEN = (1980, 1, 1, 0, 0, 0)  # the same bytes whenever it is built


def _project():
    project = tomllib.loads((HERE / "pyproject.toml").read_text("utf-8"))["project"]
    name = project["name"].replace("-", "_")
    lines = [f"Name: {project['name']}", f"Version: {project['version']}", f"Summary: {project['description']}", f"License-Expression: {project['license']}"]
    lines += [f"License-File: {f}" for f in project["license-files"]] + [f"Classifier: {c}" for c in project["classifiers"]]
    lines += [f"Requires-Python: {project['requires-python']}", "Description-Content-Type: text/markdown"]
    readme = (HERE / project["readme"]).read_text("utf-8")
    return f"{name}-{project['version']}", "\n".join(["Metadata-Version: 2.4", *lines, "", readme])


def _package(stem):
    """Returns the name of the package, which is that of its folder."""
    return stem.partition("-")[0]


def _licence():
    """Returns the licence, which a checkout has in its root and a source archive beside this file."""
    return next(p for p in (HERE / "LICENSE", HERE.parent.parent / "LICENSE") if p.is_file()).read_bytes()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    stem, metadata = _project()
    info = f"{stem}.dist-info"
    files = {p.relative_to(HERE).as_posix(): p.read_bytes() for p in sorted((HERE / _package(stem)).iterdir()) if p.is_file()}
    files[f"{info}/METADATA"] = metadata.encode()
    files[f"{info}/licenses/LICENSE"] = _licence()
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: wheel_backend\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = ""
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(data)}\n"
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    wheel = f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, wheel), "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, WHEN)
            entry.external_attr = 0o644 << 16
            z.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return wheel


def build_sdist(sdist_directory, config_settings=None):
    stem, metadata = _project()
    archive = f"{stem}.tar.gz"
    with tarfile.open(os.path.join(sdist_directory, archive), "w:gz", dereference=True) as tar:
        for name, data in (("PKG-INFO", metadata.encode()), ("LICENSE", _licence())):
            entry = tarfile.TarInfo(f"{stem}/{name}")
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
        for name in ("README.md", "generate.py", "pyproject.toml", "wheel_backend.py", _package(stem)):
            if (HERE / name).exists():  # only the client generates a part of itself
                tar.add(HERE / name, f"{stem}/{name}", filter=lambda m: None if "__pycache__" in m.name else m)
    return archive
