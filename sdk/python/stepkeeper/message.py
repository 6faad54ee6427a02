"""What an agent reads and writes: requests, calls, failures and outputs."""

import base64
import dataclasses
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

SCHEMA = 1
MAX_BODY = 1 << 20  # characters of a message; SQS has no longer ones
MAX_OUTPUT = 48 << 10  # bytes; a reply must fit into one message
MAX_LEVELS = 64  # of nested values
MAX_NUMBER = 128  # characters of a number
MAX_TEXT = 500  # characters of an error
MAX_RAW = 40_000  # characters of a text in which tokens are looked for
MAX_CODE = 64  # bytes
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
# These codes say that no call could have had an effect.
UNCOUNTED = ("not-yet", "unauthorized", "breaker-open", "no-agent", "queue")


# A token for an answer: the ID of its key, its claims in base64, which begin with a digit, and its MAC, whose end may
# be missing. Each character may be escaped for a URL or for JSON. The key does not begin inside an escape of JSON.
_ESCAPE = r"(?:%(?:25)*|\\{1,64}u00)"
_DOT = rf"(?:\.|{_ESCAPE}2[eE])"
_CHAR = rf"(?:[0-9A-Za-z_-]|{_ESCAPE}(?:2[dD]|3[0-9]|[46][1-9a-fA-F]|[57][0-9aA]|5[fF]))"
_TOKEN = re.compile(r"(?<!\\u)(?<!\\u.)(?<!\\u..)(?<!\\u...)"
                    rf"(?:[0-9a-f]|{_ESCAPE}(?:3[0-9]|6[1-6])){{8}}{_DOT}"
                    rf"(?=[MNO%\\])({_CHAR}{{1,480}}){_DOT}{_CHAR}{{1,22}}")


def redact(text: str) -> str:
    """Returns a text, or JSON, without tokens for answers. A service may repeat those of its input (P39)."""
    parts, kept, at = [], 0, 0
    while found := _TOKEN.search(text, at):
        claims = re.sub(_ESCAPE + "(..)", lambda escape: chr(int(escape[1], 16)), found[1])
        at = found.start(1)
        if re.match(rb"[0-9]{1,9}/[a-z][a-z0-9-]*/", base64.urlsafe_b64decode(claims[:len(claims) // 4 * 4])):
            parts += text[kept:found.start()], "(token)"
            kept = at = found.end()
    return "".join(parts) + text[kept:]


def readable(text: str) -> str:
    """Returns a text for people, shortened, with the escapes of what is no character, and without tokens."""
    return redact(text[:MAX_RAW].encode("utf-8", "backslashreplace").decode())[:MAX_TEXT]


class Unreadable(Exception):
    """The message cannot be read, and never will be."""


class Failure(Exception):
    """An operation was not done. Its text goes to people and into the state store.

    The text must hold no secrets and no order data.

    code: a short stable word for programs, such as "card-declined".
    no_effect: this call provably had no effect and will have none, because it was refused or never sent.
    after: the wait in seconds that the service asked for.
    """

    permanent = False
    happened = False  # done, but its output cannot be kept
    code, no_effect, after = "failed", False, 0.0  # defaults of a subclass that does not call __init__

    def __init__(self, message: str, *, code: str = "failed", no_effect: bool = False, after: float = 0):
        super().__init__(message)
        self.code, self.no_effect, self.after = code, no_effect, after

    def text(self) -> str:
        """Returns the text as it is sent and stored."""
        return readable(_text(self))


def _text(error: Exception) -> str:
    """Returns the text of an exception, whose __str__ may raise another one."""
    try:
        return repr(error) if isinstance(error, KeyError) else str(error)  # the text of a KeyError is only the key
    except Exception:
        return ""


class Permanent(Failure):
    """No repetition can succeed. The step fails for good."""

    permanent = True


class Later(Failure):
    """A repetition may succeed. Any exception that is no Failure counts as one."""


class NotYet(Failure):
    """The service did nothing, because the step's condition is not met yet. It counts as no failure."""

    def __init__(self, message: str = "the service says: not yet", *, after: float = 0):
        super().__init__(message, code="not-yet", no_effect=True, after=after)


class Unauthorized(Failure):
    """The service refused the agent's credentials and did nothing. It counts as no failure."""

    def __init__(self, message: str):
        super().__init__(message, code="unauthorized", no_effect=True)


def classify(error: Exception) -> Failure:
    """Returns the Failure that an exception stands for."""
    if not isinstance(error, Failure):
        code = "timeout" if isinstance(error, TimeoutError) else "failed"
        error = Later(_text(error) or type(error).__name__, code=code)
    if not error.permanent and not error.no_effect and error.code in UNCOUNTED:
        error.code = "failed"
    code = _UNPRINTABLE.sub(" ", readable(str(error.code))).encode()[:MAX_CODE]
    error.code = code.decode("utf-8", "ignore") or "failed"
    try:
        error.after = min(1e6, max(0, float(error.after)))  # 0 if it is not a number
    except (ValueError, TypeError, OverflowError):  # such as a date of Retry-After
        error.after = 0
    return error


@dataclass
class Call:
    """One call of an operation. Hand `key` to the service in each call; an undo has the key of its do."""

    order_id: str
    run: int
    step: str
    attempt: int
    operation: str  # "do" or "undo"
    name: str
    grade: str
    key: str
    stop_by: float  # seconds since 1970; no side effect may begin or land after it
    trace: str  # W3C traceparent
    # remaining() returns the seconds until the call must have ended, or 0: the timeout for the service.
    remaining: Callable[[], float] = field(repr=False)
    # progress(percent=0, note="") reports that the operation of a step with a maxDuration still runs.
    # This restarts its timeout. It does nothing for other steps. Call it at any rate; people see the note.
    progress: Callable[..., None] = field(repr=False)


_PATTERNS = {"task": r"[A-Za-z0-9._:~-]{1,128}", "step": r"[a-z][a-z0-9-]{0,39}", "operation": "do|undo",
             "name": "(?s:.+)", "key": "(?s:.+)"}
_LEAST = {"run": 0, "attempt": 0, "timeout": 1, "maxDuration": 0, "clockSkew": 0}
_KINDS = {"agent": str, "grade": str, "trace": str, "pointOfNoReturn": bool}
_FACTS = ("happened", "not-happened", "undone")
_CLOCK = re.compile(r"\d{4}-\d\d-\d\dT([01]\d|2[0-3]):\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)


def read_request(body: str) -> dict[str, Any]:
    """Returns a request with its times in milliseconds since 1970.

    Raises Unreadable, or RuntimeError if the schema is newer.
    """
    try:
        m = json.loads(body if len(body) <= MAX_BODY else "", object_pairs_hook=unique, parse_constant=_refuse,
                       parse_int=lambda text: int(_bounded(text)), parse_float=lambda text: float(_bounded(text)))
        check(m, MAX_LEVELS + 1, "request")
        m = {name: value for name, value in m.items() if value is not None}
        if _whole(m, "schema", 1) > SCHEMA:  # another instance of the agent may know it
            raise RuntimeError(f"it has schema {m['schema']}, newer than {SCHEMA}; deploy the newer agent")
        for name, pattern in _PATTERNS.items():
            if not re.fullmatch(pattern, m[name]):
                raise Unreadable(f"{name} is malformed")
        for name, kind in _KINDS.items():
            if type(m.setdefault(name, kind())) is not kind:
                raise Unreadable(f"{name} is malformed")
        for name, least in _LEAST.items():
            m[name] = _whole(m, name, least)
        if (resolved := m.setdefault("resolved", None)) is not None:
            resolved["command"] = _whole(resolved, "command", 0)
            if resolved["fact"] not in _FACTS:
                raise Unreadable("resolved.fact is malformed")
        _time(m, "completeBy")
        if not (stop_by := _time(m, "stopBy")):
            raise Unreadable("stopBy is missing")
        undo = m["operation"] == "undo"
        long = m["maxDuration"] > m["timeout"] and not undo
        return {"input": None, **m, "undo": undo, "long": long, "limit": m["maxDuration"] if long else m["timeout"],
                "stopBy": stop_by, "stop": stop_by - m["clockSkew"], "claimedAt": _time(m, "claimedAt")}
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as why:
        raise Unreadable(f"{type(why).__name__}: {why}") from why


def _whole(m: dict[str, Any], name: str, least: int) -> int:
    value = m.get(name)
    value = 0 if value is None else value
    if type(value) is not int or not least <= value < 1 << 53:
        raise Unreadable(f"{name} must be a whole number of at least {least}")
    return value


def _time(m: dict[str, Any], name: str) -> int | None:
    """Returns a time, or None if it is missing."""
    if (text := m.get(name, "")) == "":
        return None
    if not _CLOCK.fullmatch(text.upper()):
        raise Unreadable(f"{name} is no time")
    return int(datetime.fromisoformat(text.upper()).timestamp() * 1000)


def written(milliseconds: int) -> str:
    """Returns a time as messages write it."""
    at = datetime.fromtimestamp(milliseconds / 1000, timezone.utc)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def check(value: Any, left: int, place: str) -> None:
    """Raises ValueError for a value that Stepkeeper refuses. The error names the member."""
    if isinstance(value, int) and abs(value) >= 10**MAX_NUMBER:
        raise ValueError(f"{place}: a number has more than {MAX_NUMBER} digits; write it as a text")
    if isinstance(value, str) and not value.isascii() and re.search("[\ud800-\udfff]", value):
        raise ValueError(f"{place}: half of a surrogate pair; send whole characters")
    if isinstance(value, (dict, list)):
        if left == 0:
            raise ValueError(f"{place.split('.')[0]} has more than {MAX_LEVELS} levels")
        for name, member in value.items() if isinstance(value, dict) else enumerate(value):
            check(name, left, place)
            check(member, left - 1, f"{place}.{name}")


def _refuse(constant: str) -> None:
    raise Unreadable(f"{constant} is no number of JSON")


def _bounded(number: str) -> str:
    if len(number) > MAX_NUMBER or re.search(r"[eE][+-]?0*[1-9]\d{3}", number):
        raise Unreadable(f"a number has more than {MAX_NUMBER} characters, or an exponent beyond 999")
    return number


def unique(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """Returns an object of JSON. Raises ValueError for a key that stands twice, also as 1 and "1"."""
    if len(value := dict(members)) < len(members):
        names = [name for name, _ in members]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice} stands twice; keep one")
    return value


def shortest(value: Any) -> str:
    """Returns JSON in its shortest form, which every limit is about.

    It escapes only what JSON or SQS needs: SQS does not take the characters U+FFFE and U+FFFF.
    """
    text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return text.replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff")


def encode(output: Any) -> Any:
    """Returns an output as plain JSON values. The failure is permanent, because the operation was done."""
    code = "output"
    try:
        text = json.dumps(output, default=_plain, allow_nan=False)
        plain = json.loads(text, object_pairs_hook=unique)
        check(plain, MAX_LEVELS, "output")
        if (size := len(shortest(plain).encode())) > MAX_OUTPUT:
            code = "output-too-large"
            raise ValueError(f"it has {size} bytes and the limit is {MAX_OUTPUT}; return a reference")
        return plain
    except (ValueError, TypeError, RecursionError) as why:
        failure = Permanent(f"the operation was done, but its output cannot be kept: {why}", code=code)
        failure.happened = True
        raise failure from why


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")
