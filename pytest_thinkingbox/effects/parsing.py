"""A mail as bytes, decoded into text and headers. Whatever was sent, there is a result."""

from __future__ import annotations

from collections.abc import Callable
from email import policy
from email.message import EmailMessage, Message
from email.parser import BytesParser
from functools import partial
from typing import TypeVar

from pytest_thinkingbox.state.model import Attachment, ReceivedMail

T = TypeVar("T")


def parse_mail(content: bytes, *, sender: str, recipients: tuple[str, ...]) -> ReceivedMail:
    """Decode transfer encodings, character sets and encoded words; what is malformed stays as it came."""
    message = _or(EmailMessage(), lambda: BytesParser(policy=policy.default).parsebytes(content))
    nothing: dict[str, str] = {}
    headers = _or(nothing, lambda: _headers(message))
    raw = content.replace(b"\r\n", b"\n").partition(b"\n\n")[2].decode("utf-8", "replace")
    html = _or("", lambda: _body(message, "html"))
    return ReceivedMail(
        sender=sender,
        recipients=recipients,
        subject=next((value for name, value in headers.items() if name.lower() == "subject"), ""),
        text=_or(raw.removesuffix("\n"), lambda: _body(message, "plain")),
        html=html,
        headers=headers,
        attachments=_or((), lambda: _attachments(message)),
    )


def _or(fallback: T, read: Callable[[], T]) -> T:
    """The standard library's parser raises nearly anything on malformed mail; a mail must not end an attempt."""
    try:
        return read()
    except Exception:  # noqa: BLE001
        return fallback


def _headers(message: EmailMessage) -> dict[str, str]:
    """By name as written first; values of a repeated header are joined by ", "."""
    headers: dict[str, str] = {}
    names: dict[str, str] = {}
    for name in message:
        names.setdefault(name.lower(), name)
    for lower, name in names.items():
        raw = [value for key, value in message.raw_items() if key.lower() == lower]
        headers[name] = ", ".join(_or(raw, partial(_decoded, message, name)))
    return headers


def _decoded(message: EmailMessage, name: str) -> list[str]:
    return [str(value) for value in message.get_all(name, [])]


def _body(message: EmailMessage, kind: str) -> str:
    part = message.get_body(preferencelist=(kind,))
    if part is None:
        return ""
    try:
        text = str(part.get_content())
    except LookupError:  # a character set that does not exist
        payload = part.get_payload(decode=True)
        text = payload.decode("utf-8", "replace") if isinstance(payload, bytes) else str(payload)
    return text.replace("\r\n", "\n").removesuffix("\n")


def _attachments(message: EmailMessage) -> tuple[Attachment, ...]:
    return tuple(
        Attachment(
            name=_or("", partial(_file_name, part)) or part.get_content_type(),
            type=_or("application/octet-stream", part.get_content_type),
            data=_or(b"", partial(_content, part)),
        )
        for part in message.iter_attachments()
        if isinstance(part, EmailMessage)
    )


def _file_name(part: EmailMessage) -> str:
    return part.get_filename() or ""


def _content(part: EmailMessage) -> bytes:
    """What the transfer encoding stands for; of a mail in a mail, or of several parts, what was sent."""
    payload = part.get_payload(decode=True)
    if isinstance(payload, bytes):
        return payload
    inner = part.get_payload()
    parts = inner if isinstance(inner, list) else [part]
    return b"".join(one.as_bytes() for one in parts if isinstance(one, Message))
