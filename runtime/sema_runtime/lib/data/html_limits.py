"""Finds HTML that would take a parser minutes or gigabytes, before it is parsed.

The rules for broken HTML make some texts expensive: a start tag of a block or an end tag without a start looks through
all open elements, and styles that were never closed are repeated in each paragraph. The tags are walked once, roughly
as a parser would, and these costs are added up. Documents with few tags can't be expensive and are not walked.

Selectors have costs of their own, which `check_selector` bounds: the search for a match looks through what is above,
below or beside each element.
"""

from __future__ import annotations

from sema_runtime.values.errors import SemaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

BYTES = 32 << 20
NODES = 5_000_000
STEPS = 1_000_000_000  # through open elements; about three seconds
SEARCH_STEPS = 400_000_000  # from element to element; about five seconds
ATTRIBUTES = 20_000  # of one element
ALIKE = 3  # equal formatting elements that a paragraph repeats
FEW_TAGS = 2_000
FEW_SIBLINGS = 20_000

HINT = "reduce or split the markup input"
TAG = r"<(/?)([a-zA-Z][^\s/>]*)([^>]*)"


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


FORMATTING = _names(  # opened again in the paragraph after the one where they were left open
    "a b big code em font i nobr s small strike strong tt u"
)
VOID = _names(  # without an end
    "area base br col embed hr img input link meta param source track wbr"
)
ENDED_BY_OTHERS = _names(  # often without an end tag, and not nested for that reason
    "html head body p li dt dd option optgroup tr td th thead tbody tfoot colgroup caption rp rt"
)
SEARCHING = _names(  # whose start tags look for an open p, li, dt or dd
    """address article aside blockquote center dd details dialog dir div dl dt fieldset figcaption figure footer form h1
    h2 h3 h4 h5 h6 header hgroup hr li listing main menu nav ol p plaintext pre search section summary table ul xmp"""
)


def check_size(function: str, text: str) -> None:
    """Raises a condition for text that is longer than BYTES in UTF-8."""
    if len(text) * 4 <= BYTES:
        return
    size = len(text.encode(errors="replace"))
    if size > BYTES:
        raise SemaError(f"{function}: input bytes {size} exceeds the quarantined limit {BYTES}", HINT)


def check_cost(function: str, html: str) -> int:
    """Raises a condition for HTML that would take too much time or memory to parse.

    Returns roughly the sum of the depths of all elements; 0 where it can't be large.
    """
    tags = html.count("<")
    if tags > NODES:
        raise SemaError(f"{function}: DOM nodes {tags} exceeds the quarantined limit {NODES}", HINT)
    return _walk(function, html) if tags > FEW_TAGS or len(html) > ATTRIBUTES else 0


def check_selector(function: str, document: LexborHTMLParser, depths: int, selector: str) -> None:
    """Raises a condition for a selector that would take too long. depths: the result of `check_cost`."""
    steps = depths
    if "~" in selector or ":nth-" in selector:
        steps += _sibling_steps(document)
    if steps > SEARCH_STEPS:
        raise SemaError(f"{function}: the document is too large for the selector {selector}", HINT)


def _sibling_steps(document: LexborHTMLParser) -> int:
    """The steps from each element to all its siblings."""
    elements = document.css("*")
    if len(elements) < FEW_SIBLINGS:
        return 0
    counts: dict[int, int] = {}
    for element in elements:
        parent = element.parent
        if parent is not None:
            counts[parent.mem_id] = counts.get(parent.mem_id, 0) + 1
    return sum(count * count for count in counts.values()) // 2


def _walk(function: str, html: str) -> int:
    """One pass over the tags. It takes longer than parsing if it isn't careful, hence one loop over local variables."""
    import re

    depth = depths = steps = nodes = 0
    counts: dict[str, int] = {}  # open elements by name
    styles = _Styles()
    for tag in re.finditer(TAG, html):
        end, name, attributes = tag.groups()
        name = name.lower()
        nodes += styles.repeated
        if not end:
            depths += depth
            if name in SEARCHING:
                steps += depth
            elif name in VOID or attributes.endswith("/"):
                continue
            if name not in ENDED_BY_OTHERS:
                counts[name] = counts.get(name, 0) + 1
                depth += 1
                if name in FORMATTING:
                    styles.start(name, attributes)
            if len(attributes) > ATTRIBUTES and _attribute_count(attributes) > ATTRIBUTES:
                raise SemaError(f"{function}: an element has more than {ATTRIBUTES} attributes", HINT)
        elif counts.get(name):
            counts[name] -= 1
            depth -= 1
            if name in FORMATTING:
                styles.end(name)
        else:
            steps += depth
        if steps > STEPS:
            raise SemaError(f"{function}: elements are nested too deeply", HINT)
        if nodes > NODES:
            raise SemaError(f"{function}: DOM nodes {nodes} exceeds the quarantined limit {NODES}", HINT)
    return depths


class _Styles:
    """The open formatting elements. repeated: how many of them a new paragraph gets, at most ALIKE equal ones."""

    def __init__(self) -> None:
        self.repeated = 0
        self.attributes: dict[str, list[str]] = {}
        self.alike: dict[tuple[str, str], int] = {}

    def start(self, name: str, attributes: str) -> None:
        self.attributes.setdefault(name, []).append(attributes)
        count = self.alike[name, attributes] = self.alike.get((name, attributes), 0) + 1
        self.repeated += count <= ALIKE

    def end(self, name: str) -> None:
        key = name, self.attributes[name].pop()
        self.repeated -= self.alike[key] <= ALIKE
        self.alike[key] -= 1


def _attribute_count(text: str) -> int:
    import re

    names = re.sub(r""" "[^"]*" | '[^']*' | ["'].* """, " ", text, flags=re.DOTALL | re.VERBOSE)
    return len(names.split())
