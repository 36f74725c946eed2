"""An image with this Python and a small tool server, built of the files of this machine: no registry is asked."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("image_server.py")
PACKAGES = ("psycopg", "psycopg_binary", "pymysql", "typing_extensions")
LEFT_OUT = (
    "test",
    "idlelib",
    "tkinter",
    "ensurepip",
    "site-packages",
    "__pycache__",
    "config-",
    "lib2to3",
    "turtledemo",
)
PYTHON = "/python/bin/python"


def tool_image() -> str:
    """The image's name; built when it is not there."""
    docker = shutil.which("docker")
    if docker is None or subprocess.run([docker, "info"], capture_output=True).returncode:
        pytest.skip("needs Docker")
    content = PROGRAM.read_bytes() + Path(__file__).read_bytes() + sys.version.encode()
    name = f"thinkingbox-tests-tools:{hashlib.sha256(content).hexdigest()[:12]}"
    if subprocess.run([docker, "image", "inspect", name], capture_output=True).returncode:
        build = subprocess.run(
            [docker, "build", "-q", "-t", name, "-"],
            input=_context(), capture_output=True, env={"DOCKER_BUILDKIT": "0", "PATH": "/usr/bin:/bin"},
        )  # fmt: skip
        assert build.returncode == 0, build.stderr.decode()
    return name


def _context() -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as tar:
        _text(tar, "Dockerfile", "FROM scratch\nADD root.tar /\nCMD " + f'["{PYTHON}", "/server.py"]\n')
        root = _root()
        info = tarfile.TarInfo("root.tar")
        info.size = len(root)
        tar.addfile(info, io.BytesIO(root))
    return written.getvalue()


def _root() -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as tar:
        tar.add(PROGRAM, "server.py")
        for folder in ("tmp", "etc"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777
            tar.addfile(entry)
        binary = Path(sys.executable).resolve()
        stdlib = Path(sysconfig.get_path("stdlib"))
        tar.add(binary, PYTHON[1:])
        version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        tar.add(stdlib, f"python/lib/{version}", filter=_needed)
        native = [binary, *stdlib.glob("lib-dynload/*.so")]
        for package in PACKAGES:
            found = importlib.util.find_spec(package)
            assert found is not None
            assert found.origin is not None
            place = (
                Path(found.origin) if found.submodule_search_locations is None else Path(found.origin).parent
            )
            tar.add(place, f"python/lib/{version}/site-packages/{place.name}", filter=_needed)
            for libraries in place.parent.glob(f"{package}*.libs"):
                tar.add(libraries, f"python/lib/{version}/site-packages/{libraries.name}")
                native += libraries.iterdir()
            native += place.rglob("*.so")
        for library in set(_libraries(native)):
            if library.is_relative_to(sys.prefix):
                continue  # beside what needs it
            tar.add(library.resolve(), str(library)[1:])
    return written.getvalue()


def _needed(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    wrong = (
        any(part.startswith(LEFT_OUT) for part in Path(entry.name).parts[3:4]) or "__pycache__" in entry.name
    )
    return None if wrong and "site-packages/" not in entry.name else entry


def _libraries(files: list[Path]) -> Iterator[Path]:
    """What the loader needs, where it looks for it."""
    said = subprocess.run(["ldd", *files], capture_output=True, text=True).stdout
    for line in said.splitlines():
        found = re.search(r"(?:=> )?(/\S+) \(0x", line)
        if found is not None:
            yield Path(found[1])


def _text(tar: tarfile.TarFile, name: str, text: str) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(text.encode())
    tar.addfile(info, io.BytesIO(text.encode()))
