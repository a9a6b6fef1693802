"""What the service answers when it does not do what was asked; the edge makes a status and a body of it."""


class Refusal(Exception):  # noqa: N818 - an answer, not a fault
    """An answer that is no success. ``message`` says what to do; it never repeats a value that was sent.

    ``field`` names the part of the request that does not fit, in our own words. ``after`` is the number of seconds
    after which to come back, where waiting helps.
    """

    def __init__(self, status: int, code: str, message: str, field: str = "", after: float | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.field, self.after = status, code, message, field, after

    def body(self) -> dict[str, dict[str, str]]:
        """The body of the answer, as the protocol has it."""
        return {"error": {"code": self.code, "message": self.message, "field": self.field}}


def unfit(field: str, message: str) -> Refusal:
    """A part of a request that was understood and cannot be used (422)."""
    return Refusal(422, "unfit", message, field)


def not_found(what: str) -> Refusal:
    return Refusal(404, "not_found", f"there is no such {what}", what)


UNAUTHENTICATED = "name a token that is valid, as in 'Authorization: Bearer TOKEN'"


def unauthenticated() -> Refusal:
    """No token, or one that is unknown, expired or revoked: which of them is nobody's business (401)."""
    return Refusal(401, "unauthenticated", UNAUTHENTICATED, "Authorization")


def forbidden(message: str) -> Refusal:
    return Refusal(403, "forbidden", message, "Authorization")
