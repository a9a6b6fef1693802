"""The cookie of a session: who may send it, and the token in it."""

from urllib.parse import urlsplit

from halfmask.service.refusal import Refusal
from halfmask.service.request import digest

COOKIE = "halfmask_session"
OWN_SITE = (b"same-origin", b"none")
Headers = dict[bytes, bytes]


def session_of(headers: Headers, method: str) -> str | None:
    """Return the hash of the session's token in the cookie, or None. Refuse one that another site sends."""
    found = [part.strip().partition(b"=") for part in headers.get(b"cookie", b"").split(b";")]
    token = next((value for name, _, value in found if name == COOKIE.encode()), b"")
    if not token:
        return None
    check_same_site(headers, method)
    return digest(token.decode("latin-1"))


def check_same_site(headers: Headers, method: str) -> None:
    """Refuse a request that a page of another site made."""
    told = headers.get(b"sec-fetch-site")
    origin = headers.get(b"origin")
    own = origin is not None and urlsplit(origin.decode("latin-1")).netloc.encode() == headers.get(b"host")
    if (told is not None and told not in OWN_SITE) or (method not in ("GET", "HEAD") and not own):
        raise Refusal(403, "cross_site", "a session is for the pages of this service: use a token instead")
