"""A registry of packages, over HTTP.

| request | answer |
|---|---|
| GET /api/v1/packages/NAME | `{"package": {}, "versions": [{"version", "checksum_sha256", "yanked"}], "owners": []}` |
| GET /api/v1/packages/NAME/VERSION/download | the archive, tar and gzip |
| PUT /api/v1/packages/NAME/VERSION | `{"checksum"}`; with a token; a form of `tarball` and `metadata` (JSON) |
| POST /api/v1/packages/NAME/VERSION/yank | with a token |
| GET /api/v1/search?q=TEXT | `{"packages": [{"name", "description"}], "total"}` |

Errors are `{"error": "..."}` with a status from 400 on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from semac.pkg.errors import PackageError

if TYPE_CHECKING:
    import httpx

SECONDS = 30.0
MOST_BYTES = 256 << 20


class Registry:
    """A registry. url: where it is; token: of the user, "" for none."""

    def __init__(self, url: str, token: str = "") -> None:
        if not url.startswith(("https://", "http://")):
            raise PackageError(f"'{url}' is no URL of a registry: it begins with https://")
        self.url = url.rstrip("/")
        self.token = token

    def info(self, name: str) -> dict[str, Any]:
        """What the registry knows of a package. Raises PackageError."""
        return self._json("GET", f"packages/{quote(name, safe='')}", f"package {name}")

    def versions(self, name: str) -> dict[str, dict[str, Any]]:
        """The versions of a package that were not yanked. Raises PackageError."""
        entries = self.info(name).get("versions")
        if not isinstance(entries, list):
            raise PackageError(f"{self.url}: the answer about {name} has no versions")
        known = [entry for entry in entries if isinstance(entry, dict) and isinstance(entry.get("version"), str)]
        return {entry["version"]: entry for entry in known if not entry.get("yanked")}

    def download(self, name: str, version: str, target: str) -> str:
        """Writes the archive of a version to a file; its SHA-256. Raises PackageError."""
        what = f"{name}@{version}"
        total = sha256()
        size = 0
        path = f"packages/{quote(name, safe='')}/{quote(version, safe='')}/download"
        with self._reaching(what), self._client() as client, client.stream("GET", self._at(path)) as answer:
            if answer.status_code != 200:
                answer.read()
                raise self._failure(answer, what)
            with open(target, "wb") as file:
                for part in answer.iter_bytes():
                    size += len(part)
                    if size > MOST_BYTES:
                        raise PackageError(f"{what}: the archive has more than {MOST_BYTES >> 20} MiB")
                    total.update(part)
                    file.write(part)
        return total.hexdigest()

    def publish(self, name: str, version: str, tarball: bytes, metadata: str) -> dict[str, Any]:
        """Uploads a version; the answer. Raises PackageError."""
        path = f"packages/{quote(name, safe='')}/{quote(version, safe='')}"
        files = {"tarball": ("package.tar.gz", tarball, "application/gzip"), "metadata": (None, metadata)}
        return self._json("PUT", path, f"{name}@{version}", files=files)

    def yank(self, name: str, version: str) -> dict[str, Any]:
        """Takes a version out of what is offered. Raises PackageError."""
        path = f"packages/{quote(name, safe='')}/{quote(version, safe='')}/yank"
        return self._json("POST", path, f"{name}@{version}")

    def search(self, text: str) -> list[dict[str, Any]]:
        """Packages whose name or description has a text. Raises PackageError."""
        packages = self._json("GET", f"search?q={quote(text, safe='')}", f"search for '{text}'").get("packages")
        return [package for package in packages if isinstance(package, dict)] if isinstance(packages, list) else []

    def _at(self, path: str) -> str:
        return f"{self.url}/api/v1/{path}"

    def _client(self) -> httpx.Client:
        import httpx

        headers = {"User-Agent": "sema-pkg", **({"Authorization": f"Bearer {self.token}"} if self.token else {})}
        return httpx.Client(timeout=SECONDS, follow_redirects=True, headers=headers)

    def _json(self, method: str, path: str, what: str, **options: Any) -> dict[str, Any]:
        with self._reaching(what), self._client() as client:
            answer = client.request(method, self._at(path), **options)
        if not 200 <= answer.status_code < 300:
            raise self._failure(answer, what)
        try:
            data = answer.json()
        except ValueError:
            raise PackageError(f"{self.url} answered with something else than JSON; is it a registry?") from None
        return data if isinstance(data, dict) else {}

    def _failure(self, answer: httpx.Response, what: str) -> PackageError:
        try:
            data = answer.json()
            said = data.get("error") if isinstance(data, dict) else None
        except ValueError:
            said = None
        reason = said if isinstance(said, str) else answer.reason_phrase
        hint = "; sema pkg login" if answer.status_code in (401, 403) else ""
        return PackageError(f"{self.url}: {what}: {reason} (status {answer.status_code}){hint}")

    @contextmanager
    def _reaching(self, what: str) -> Iterator[None]:
        """Words errors of the network."""
        import httpx

        try:
            yield
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            reason = str(error) or type(error).__name__
            raise PackageError(
                f"{self.url} can't be reached for {what}: {reason}; sema pkg config registry.url URL chooses another"
            ) from None
        except OSError as error:
            raise PackageError(f"{what}: {error.strerror or error}") from None
