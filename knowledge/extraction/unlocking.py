"""Office files with a password: the container is opened here, what is in it goes the usual way."""

from __future__ import annotations

import io

import msoffcrypto
from msoffcrypto.exceptions import DecryptionError, FileFormatError, InvalidKeyError, ParseError

from knowledge.errors import Damaged, Encrypted, WrongPassword


def unlock(data: bytes, *, password: str | None) -> bytes:
    """Return the file inside; raises Encrypted without a password, WrongPassword, or Damaged."""
    if not password:
        raise Encrypted()
    unlocked = io.BytesIO()
    try:
        file = msoffcrypto.OfficeFile(io.BytesIO(data))
        file.load_key(password=password)
        file.decrypt(unlocked)
    except (InvalidKeyError, DecryptionError) as error:
        raise WrongPassword() from error
    except (FileFormatError, ParseError, OSError, ValueError) as error:
        raise Damaged() from error
    return unlocked.getvalue()
