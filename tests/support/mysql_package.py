"""An image with Oracle's MySQL, built of packages of Debian unstable: no registry is asked.

What is run is the server that Debian builds; the entrypoint does what the official image's does for the variables that
the plugin sets.
"""

from __future__ import annotations

import hashlib
import io
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from filelock import FileLock

from pytest_thinkingbox.backends.server import claims

PACKAGES = ("mysql-server-core", "mysql-client-core", "base-files", "dash", "coreutils")
SOURCE = (
    "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian sid main\n"
)
PROGRAMS = frozenset({"mysqld", "mysql", "mysqldump", "dash", "sh", "mkdir", "rm", "cat"})
WANTED = ("usr/share/mysql/english", "usr/share/mysql/charsets")
UNWANTED = ("usr/share/", "usr/lib/mysql/plugin/", "var/lib/", "usr/lib/x86_64-linux-gnu/gconv/")
ENTRYPOINT = """#!/bin/sh
set -eu
data=/var/lib/mysql
[ "${1:-}" = "${1#-}" ] || set -- mysqld "$@"
[ "${1:-}" = mysqld ] || exec "$@"
shift
set -- --user=root --datadir="$data" "$@"
mkdir -p "$data" /var/run/mysqld /var/lib/mysql-files
if [ ! -d "$data/mysql" ]; then
  first=/tmp/first.sql everybody="root@'${MYSQL_ROOT_HOST:-%}'"
  cat >"$first" <<EOF
CREATE USER $everybody IDENTIFIED BY '${MYSQL_ROOT_PASSWORD:?must be set}';
GRANT ALL ON *.* TO $everybody WITH GRANT OPTION;
ALTER USER root@localhost IDENTIFIED BY '$MYSQL_ROOT_PASSWORD';
EOF
  mysqld --initialize-insecure --init-file="$first" "$@"
  rm "$first"
fi
exec mysqld --bind-address=0.0.0.0 "$@"
"""
CHANGES = ('ENTRYPOINT ["/entrypoint"]', 'CMD ["mysqld"]', "EXPOSE 3306", "ENV PATH=/usr/sbin:/usr/bin")
_SECONDS = 300


class CannotBuild(Exception):
    """What is needed is not here."""


def built_image() -> str:
    """The image's name, which `--tb-backend` takes for one of MySQL; built when it is not there."""
    docker = shutil.which("docker")
    if docker is None or subprocess.run([docker, "info"], capture_output=True).returncode:
        raise CannotBuild("Docker does not answer")
    name = f"mysql:tests-{hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]}"
    with FileLock(claims.folder() / "mysql-image.lock"):  # workers of pytest-xdist want it at the same time
        if subprocess.run([docker, "image", "inspect", name], capture_output=True).returncode:
            with tempfile.TemporaryDirectory() as folder:
                _build(docker, name, Path(folder))
    return name


def _build(docker: str, name: str, folder: Path) -> None:
    for program in ("apt-get", "dpkg-deb"):
        if shutil.which(program) is None:
            raise CannotBuild(f"there is no {program}")
    packages = _downloaded(folder)
    root = folder / "root.tar"
    with tarfile.open(root, mode="w") as tar:
        _text(tar, "entrypoint", ENTRYPOINT, mode=0o755)
        _text(tar, "etc/passwd", "root:x:0:0:root:/:/bin/sh\n", mode=0o644)
        for package in packages:
            _add(tar, package)
    changes = [word for change in CHANGES for word in ("--change", change)]
    done = subprocess.run([docker, "import", *changes, root, name], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def _downloaded(folder: Path) -> list[Path]:
    """The packages and those that they need, checked by apt, which knows nothing of what this machine has."""
    (folder / "lists/partial").mkdir(parents=True)
    (folder / "archives/partial").mkdir(parents=True)
    (folder / "status").touch()
    (folder / "sources").write_text(SOURCE)
    settings = {
        "Dir::Etc::SourceList": folder / "sources", "Dir::Etc::SourceParts": "/dev/null",
        "Dir::Etc::Preferences": "/dev/null", "Dir::Etc::PreferencesParts": "/dev/null",
        "Dir::State::Lists": folder / "lists", "Dir::State::Status": folder / "status", "Dir::Cache": folder,
        "Dir::Cache::Archives": folder / "archives", "Acquire::Languages": "none", "Debug::NoLocking": "true",
        "APT::Sandbox::User": "root", "APT::Update::Error-Mode": "any", "Acquire::http::Timeout": "30",
    }  # fmt: skip
    apt = [
        "apt-get",
        "-qq",
        *(word for name, value in settings.items() for word in ("-o", f"{name}={value}")),
    ]
    wanted = ["-y", "--no-install-recommends", "--download-only", "install", *PACKAGES]
    for command in (["update"], wanted):
        try:
            subprocess.run([*apt, *command], capture_output=True, text=True, check=True, timeout=_SECONDS)
        except subprocess.CalledProcessError as error:
            raise CannotBuild(f"apt-get says {error.stderr.strip()[-500:]}") from error
        except subprocess.TimeoutExpired as error:
            raise CannotBuild(f"apt-get did not end in {_SECONDS} s") from error
    found = (folder / "archives").glob("*.deb")
    return sorted(one for one in found if not one.name.startswith(("perl", "libperl")))


def _add(tar: tarfile.TarFile, package: Path) -> None:
    """What a package installs, as far as a server needs it."""
    with (
        subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as unpack,
        tarfile.open(fileobj=unpack.stdout, mode="r|") as content,
    ):
        for entry in content:
            entry.name = entry.name.removeprefix("./")
            if _is_needed(entry):
                tar.addfile(entry, content.extractfile(entry) if entry.isreg() else None)
    assert unpack.returncode == 0, package


def _is_needed(entry: tarfile.TarInfo) -> bool:
    if entry.isdir():
        return entry.name == "tmp"  # others are made for what is in them
    if entry.name.startswith(("usr/bin/", "usr/sbin/")):
        return entry.name.rpartition("/")[2] in PROGRAMS
    return entry.name.startswith(WANTED) or not entry.name.startswith(UNWANTED)


def _text(tar: tarfile.TarFile, name: str, text: str, *, mode: int) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(text.encode()), mode
    tar.addfile(info, io.BytesIO(text.encode()))
