"""Runs in the interpreter of the servers, on its own: imports nothing of this package, nor anything but Python's own.

It runs a module as `python -m MODULE` would, up to `if __name__ == "__main__":`. There it waits, and goes on once for
each request, in a copy of itself. So the module's imports are paid once, and each copy begins where they ended.
"""

from __future__ import annotations

import array
import ast
import contextlib
import gc
import importlib.util
import json
import os
import signal
import socket
import sys
import threading
import traceback
from typing import Any


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    module, arguments = sys.argv[2], sys.argv[3:]
    sys.path[0] = os.getcwd()
    why, rest, names = load(module, arguments)
    send(control, {"ready": why == "", "why": why})
    if why:
        return
    gc.collect()
    gc.freeze()
    children = set()
    try:
        while True:
            data, fds = receive(control)
            if not data:
                return
            request = json.loads(data)
            if "end" in request:
                end(request["end"])
                children.discard(request["end"])
                send(control, {"ended": request["end"]})
                continue
            pid = os.fork()
            if pid == 0:
                control.close()
                become(*fds)
                exec(rest, names)
                sys.stdout.flush()
                os._exit(0)
            for fd in fds:
                os.close(fd)
            children.add(pid)
            send(control, {"pid": pid})
    finally:
        if os.getpid() == ZYGOTE:
            for pid in children:
                end(pid)


ZYGOTE = os.getpid()


def load(name: str, arguments: list[str]) -> tuple[str, Any, Any]:
    """Run the module up to its main part: why that cannot be done, the main part, and the module's names."""
    spec: Any = importlib.util.find_spec(name)
    if spec is None or spec.loader is None:
        return "there is no module " + name, None, None
    if spec.submodule_search_locations is not None:
        return name + " is a package", None, None
    source = spec.loader.get_source(name)
    if source is None:
        return name + " has no source", None, None
    tree = ast.parse(source, spec.origin)
    mains = [index for index, one in enumerate(tree.body) if is_main(one)]
    if not mains:
        return name + " has no `if __name__ == '__main__':`", None, None
    sys.argv = [spec.origin, *arguments]
    main: Any = type(sys)("__main__")
    main.__file__, main.__spec__, main.__package__ = spec.origin, spec, spec.parent
    sys.modules["__main__"] = main
    head, rest = tree.body[: mains[0]], tree.body[mains[0] :]
    future = [one for one in head if isinstance(one, ast.ImportFrom) and one.module == "__future__"]
    exec(compile(ast.Module(head, []), spec.origin, "exec", dont_inherit=True), main.__dict__)
    if threading.active_count() > 1:
        return name + " starts threads, which a copy would not have", None, None
    compiled = compile(ast.Module(future + rest, []), spec.origin, "exec", dont_inherit=True)
    return "", compiled, main.__dict__


def is_main(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.If):
        return False
    test = statement.test
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq)):
        return False
    sides = [test.left, test.comparators[0]]
    named = any(isinstance(one, ast.Name) and one.id == "__name__" for one in sides)
    return named and any(isinstance(one, ast.Constant) and one.value == "__main__" for one in sides)


def become(connection: int, errors: int) -> None:
    """Make this process a program of its own, with the connection as its input and output."""
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.dup2(errors, 2)
    os.dup2(connection, 0)
    os.dup2(connection, 1)
    os.close(connection)
    os.close(errors)
    # Those of the start belong to files of which Python remembers what they can do.
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def end(pid: int) -> None:
    """Kill the copy and what it started. It stays a child of ours until here, so that its number is its own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)  # it may not have a group of its own yet
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


def receive(control: socket.socket) -> tuple[bytes, list[int]]:
    """One request, and the files that came with it."""
    fds = array.array("i")
    data, ancillary, _, _ = control.recvmsg(65536, socket.CMSG_SPACE(2 * fds.itemsize))
    for level, kind, payload in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(payload[: len(payload) - len(payload) % fds.itemsize])
    return data, list(fds)


def send(control: socket.socket, message: dict[str, Any]) -> None:
    control.sendall(json.dumps(message).encode())


if __name__ == "__main__":
    try:
        main()
    except Exception:
        traceback.print_exc()
        if os.getpid() != ZYGOTE:
            sys.stderr.flush()
            os._exit(1)
        raise
