"""Seeds of everything random in a campaign, derived so that no two attempts share one."""

from __future__ import annotations

from hashlib import blake2b


def derive_seed(*parts: str | int) -> int:
    """A 31-bit seed of these parts: equal parts give equal seeds, in every process and on every machine.

    31 bits because OpenAI-compatible endpoints read the seed as a signed 32-bit integer.
    """
    text = "\x1f".join(f"{type(part).__name__}:{part}" for part in parts)
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).digest()) >> 1
