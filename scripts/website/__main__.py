"""Builds the site from docs/. See docs/how-to/site.md."""

from __future__ import annotations

import argparse
import functools
import http.server
import json
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import agents_files
import links
import versions
from pages import Site
from places import DOCS, ROOT, SOURCES, WORK, Problem, ran, say

SHIM = "https://unpkg.com/iframe-worker/shim"  # search from local files: the theme takes it from there
WATCHED = (DOCS, ROOT / "examples", ROOT / "README.md", ROOT / "semac" / "docs")


def main() -> int:
    options = arguments()
    try:
        build(options)
        if options.into is not None:
            versions.publish(options.out, options.into, options.version)
            say(f"version {options.version} is in {options.into}")
        if options.serve is not None:
            serve(options)
    except Problem as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/build_site", description="Builds the site in build/site/html.")
    parser.add_argument("--out", type=Path, default=WORK / "html", metavar="FOLDER", help="[build/site/html]")
    parser.add_argument(
        "--serve",
        nargs="?",
        type=int,
        const=8000,
        metavar="PORT",
        help="serve it, and build it anew when a page changes",
    )
    parser.add_argument("--no-playground", action="store_true", help="the pages alone, without Node.js and npm")
    parser.add_argument("--only-playground", action="store_true", help="the playground alone")
    parser.add_argument("--url", default="", help="where it will be: for the sitemap, and for links of the page 404")
    parser.add_argument("--version", metavar="NAME", help="with --into: the name of this version, such as 0.2")
    parser.add_argument("--into", type=Path, metavar="FOLDER", help="add this version to a folder of versions")
    options = parser.parse_args()
    if (options.version is None) != (options.into is None):
        parser.error("--version and --into belong together")
    return options


def build(options: argparse.Namespace) -> None:
    """Writes the site. Raises Problem where a page or a link is wrong, or a program is missing."""
    out = options.out = options.out.resolve()
    if not options.no_playground:
        import playground

        playground.build(out / "playground")
    if options.only_playground:
        return
    build_pages(options)
    faults = [fault for fault in links.faults_of(out) if not (options.no_playground and "playground/" in fault)]
    if faults:
        raise Problem("dead links\n" + "\n".join(f"  {fault}" for fault in faults[:50]))
    say(f"the site is in {out}: {len(list(out.rglob('*.html')))} pages")


def build_pages(options: argparse.Namespace) -> None:
    """Writes all but the playground, which stays as it is."""
    say("building the pages")
    site = Site()
    pages, html = WORK / "pages", WORK / "pages-html"
    shutil.rmtree(pages, ignore_errors=True)
    for name, text in site.pages.items():
        write(pages / name, text)
    for path, name in site.files.items():
        (pages / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, pages / name)
    for name in ("extra.css", "extra.js"):
        write(pages / "assets" / name, (SOURCES / name).read_text())
    write(WORK / "mkdocs.yml", configuration(site, options))
    zensical = Path(sys.executable).with_name("zensical")
    ran([zensical, "build", "--clean", "-f", "mkdocs.yml"], WORK, "the pages could not be built")
    agents_files.write(site, html)
    localize(html)
    options.out.mkdir(parents=True, exist_ok=True)
    for path in options.out.iterdir():
        if path.is_dir() and path.name != "playground":
            shutil.rmtree(path)
    shutil.copytree(html, options.out, dirs_exist_ok=True)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def configuration(site: Site, options: argparse.Namespace) -> str:
    """mkdocs.yml of the build: ours, and what depends on the pages and the options. JSON is YAML."""
    import yaml

    settings = yaml.safe_load((SOURCES / "mkdocs.yml").read_text())
    settings |= {"docs_dir": "pages", "site_dir": "pages-html", "nav": site.navigation()}
    if options.url:
        settings["site_url"] = options.url
    if options.version:
        settings["extra"]["version"] = {"provider": "mike", "default": versions.LATEST}
    return json.dumps(settings, indent=1)


def localize(folder: Path) -> None:
    """Puts the script that the pages would load from another host into the site, or takes it out without npm."""
    shim = WORK / "npm" / "node_modules" / "iframe-worker" / "shim" / "index.js"
    if shim.exists():
        shutil.copy(shim, folder / "assets" / "iframe-worker.js")
    for path in folder.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        if SHIM in text:
            place = "../" * (len(path.relative_to(folder).parts) - 1) + "assets/iframe-worker.js"
            path.write_text(text.replace(SHIM, place if shim.exists() else "data:,"), encoding="utf-8")


def serve(options: argparse.Namespace) -> None:
    """Serves the site on this machine until Ctrl-C; pages are built anew when their sources change."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(options.out))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", options.serve), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    say(f"http://127.0.0.1:{server.server_port}/ until Ctrl-C")
    before = stamps()
    while True:
        time.sleep(1)
        now = stamps()
        if now != before:
            before = now
            try:
                build_pages(options)
            except Problem as problem:
                print(f"error: {problem}", file=sys.stderr)


def stamps() -> dict[Path, float]:
    return {path: path.stat().st_mtime for path in watched()}


def watched() -> Iterator[Path]:
    for place in WATCHED:
        yield from (path for path in place.rglob("*") if path.is_file()) if place.is_dir() else (place,)


if __name__ == "__main__":
    sys.exit(main())
