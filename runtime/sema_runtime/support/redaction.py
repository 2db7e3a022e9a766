"""Removes keys from texts that messages, traces, journals and reports show.

`hidden` is for any text, such as a server's reply, which may repeat the headers and the URL of a request; `shown_url`
is for a URL.
"""

from __future__ import annotations

from functools import cache

from sema_runtime.support.secrets import REDACTED, known

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterable

SHORTEST_KEY = 8  # characters; a shorter one could be any word
NAMES = frozenset((
    "key", "apikey", "accesskey", "accesskeyid", "secretkey", "secretaccesskey", "privatekey", "subscriptionkey",
    "authkey", "appkey", "appsecret", "token", "accesstoken", "refreshtoken", "idtoken", "authtoken", "sessiontoken",
    "securitytoken", "apitoken", "secret", "clientsecret", "apisecret", "password", "passwd", "pwd", "pass",
    "passphrase", "auth", "authorization", "credential", "credentials", "sig", "signature", "sign", "hmac", "code",
    "codeverifier", "clientassertion", "assertion", "jwt", "session", "sessionid", "sid", "cookie", "awsaccesskeyid",
    "googleaccessid",
))  # of parameters, in lower case without dashes  # fmt: skip
ENDINGS = ("key", "token", "secret", "password", "passwd", "signature", "credential")
STARTS = ("xamz", "xgoog", "xoss")  # parts of signed URLs
KEY_HEADERS = r"(?:x-|x-goog-|ocp-apim-subscription-|api)?-?api-?key|x-[\w-]*(?:token|key)"
HEADERS = rf"(?:proxy-)?authorization|(?:set-)?cookie|{KEY_HEADERS}"
PARAMETER = r"([?&;#])([^\s=&;#?\"'<>]{1,100})=([^\s&;#\"'<>`]+)"
USERINFO = r"(?<=://)([^\s/?#\"'<>@:]*):[^\s/?#\"'<>]*(?=@)"
SCHEMES = r"bearer|basic|token|digest|negotiate|apikey"
HEADER = rf"(?i)\b({HEADERS})([\"']?\s{{0,3}}[:=]\s{{0,3}}[\"']?)((?:{SCHEMES})\s+)?([^\s\"',;<>]+)"
FIELD = r"([\"'])([\w.-]{1,60})\1(\s{0,3}:\s{0,3})([\"'])([^\"']{4,})\4"
TOKENS = (
    r"\b(?:sk|pk|rk|gsk|xai|csk|pplx|hf|jina|fw|tgp)[-_][\w-]{12,}",
    r"\bAIza[\w-]{16,}",
    r"\bBearer\s+[^\s\"',;]+",
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    r"\bgh[pousr]_[A-Za-z0-9]{16,}",
    r"\bgithub_pat_\w{20,}",
    r"\bglpat-[\w-]{16,}",
    r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
    r"\bya29\.[\w-]{16,}",
    r"\bnpm_[A-Za-z0-9]{30,}",
    r"\bpypi-[\w-]{40,}",
    r"\bSG\.[\w-]{16,}\.[\w-]{16,}",
    r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}",
)
KEPT_BEHIND = ":.,;)]}"  # punctuation after a URL


def hidden(text: str, secrets: Iterable[str] = ()) -> str:
    """The text without keys: those this process knows, the given secrets, and what looks or is named like a key."""
    for secret in (*secrets, *known()):
        if len(secret) >= SHORTEST_KEY and secret in text:
            text = text.replace(secret, REDACTED)
    text = shown_url(text)
    text = _regex(HEADER).sub(_without_header, text)
    text = _regex(FIELD).sub(_without_field, text)
    return _regex("|".join(TOKENS)).sub(REDACTED, text)


def shown_url(url: str) -> str:
    """A URL, or a text with URLs, without passwords and without the values of parameters that are keys."""
    if "@" in url:
        url = _regex(USERINFO).sub(r"\1:***", url)
    if "=" in url:
        url = _regex(PARAMETER).sub(_without_value, url)
    return url


def names_key(name: str) -> bool:
    """Whether a parameter, a field or a header of that name holds a key."""
    if "%" in name:
        from urllib.parse import unquote

        name = unquote(name)
    bare = "".join(filter(str.isalnum, name)).lower()
    return bare in NAMES or bare.startswith(STARTS) or (bare != name.lower() and bare.endswith(ENDINGS))


def _without_value(match: re.Match[str]) -> str:
    mark, name, value = match.groups()
    if not names_key(name) or value.startswith(REDACTED):
        return match[0]
    return f"{mark}{name}={REDACTED}{value[len(value.rstrip(KEPT_BEHIND)) :]}"


def _without_header(match: re.Match[str]) -> str:
    name, between, scheme, value = match.groups()
    if value.startswith(REDACTED):
        return match[0]
    return f"{name}{between}{scheme or ''}{REDACTED}"


def _without_field(match: re.Match[str]) -> str:
    quote, name, between, inner, value = match.groups()
    if not names_key(name) or REDACTED in value:
        return match[0]
    return f"{quote}{name}{quote}{between}{inner}{REDACTED}{inner}"


@cache
def _regex(pattern: str) -> re.Pattern[str]:
    import re

    return re.compile(pattern)
