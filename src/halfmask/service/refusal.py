"""Refusals: the service's answers when it does not do what was asked. The edge turns them into a status and a body."""

from collections.abc import Mapping
from typing import Any


class Refusal(Exception):  # noqa: N818 - an answer, not a fault
    """An answer other than success. ``message`` says what to do and never repeats a value that was sent.

    ``field``  the part of the request that does not fit, in our own words
    ``after``  the seconds after which to come back, if waiting helps
    ``more``   what the body holds besides the error
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        field: str = "",
        after: float | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.field, self.after = status, code, message, field, after
        self.more = more or {}

    def body(self) -> dict[str, Any]:
        """Return the body of the answer in the protocol's form."""
        return {"error": {"code": self.code, "message": self.message, "field": self.field}, **self.more}


def unfit(field: str, message: str) -> Refusal:
    """Return the refusal of a part of a request that was understood but cannot be used (422)."""
    return Refusal(422, "unfit", message, field)


def not_found(what: str) -> Refusal:
    return Refusal(404, "not_found", f"there is no such {what}", what)


def unauthenticated() -> Refusal:
    """Return the refusal of a missing, unknown, expired or revoked token (401). It does not say which."""
    message = "name a token that is valid, as in 'Authorization: Bearer TOKEN'"
    return Refusal(401, "unauthenticated", message, "Authorization")


def forbidden(message: str) -> Refusal:
    return Refusal(403, "forbidden", message, "Authorization")
