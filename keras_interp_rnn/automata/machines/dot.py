"""Automata as Graphviz's DOT, which pydot parses.

By a convention that most programs share, the start has an arrow from nowhere, accepting states have two rings, and the
label of an edge is a symbol. Default attributes and escapes in labels follow Graphviz. Ports, HTML, edges of subgraphs
and attributes that concern more than the drawing are refused, as they could mean anything.

Reference: Gansner, Koutsofios, North, "Drawing graphs with dot", 2015.
"""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence

from keras_interp_rnn._checks import invalid
from keras_interp_rnn._io import needed
from keras_interp_rnn._types import FiniteAutomaton
from keras_interp_rnn.automata.machines.formats import Table, checked_text, texts
from keras_interp_rnn.automata.machines.libraries import NOTHING, Rows, Theirs, of_last_outputs

MAX_READ = 10_000_000
"""Maximum of states times symbols of an automaton that is read."""

NO_SYMBOL = re.compile(r"|ε|\\e|<eps>|<epsilon>|@0@|@_\w+_@|@[CDENPRU]\.[^@]+@")
"""Names that programs write for no symbol (epsilon), for any other symbol, or for a flag."""

WHAT = "An automaton in DOT"

STATES = set("box circle doublecircle ellipse Mrecord oval record rect rectangle square".split())
MARKS = set("none plain plaintext point".split())
"""Shapes of states, and of nodes that mark the start or an accepting state by an arrow."""

MEANING = {"graph": {"label", "style"}, "node": {"label", "peripheries", "shape", "style"}, "edge": {"label", "style"}}
DRAWING = set(
    """_background _draw_ _hdraw_ _hldraw_ _ldraw_ _tdraw_ _tldraw_ arrowhead arrowsize arrowtail bb bgcolor center
    charset class clusterrank color colorscheme comment compound concentrate constraint decorate dpi fillcolor
    fixedsize fontcolor fontname fontnames fontpath fontsize forcelabels gradientangle group headclip headport
    height href id image imagepos imagescale labelangle labeldistance labelfloat labelfontcolor labelfontname
    labelfontsize labeljust labelloc landscape layout len lheight lp lwidth margin minlen mode newrank nodesep
    nojustify ordering orientation outputorder overlap pack packmode pad page penwidth pin pos quantum rank rankdir
    ranksep ratio rects regular resolution rotate samehead samplepoints sametail scale sep sides size skew splines
    tailclip tailport tooltip truecolor URL vertices viewport width xdotversion xlp""".split()
)
"""Attributes that are read, and attributes that concern the drawing alone."""

ESCAPES = {"n": "\n", "l": "\n", "r": "\r", **{sign: sign for sign in '\\"{}|<> '}}

_PROBABILITY = re.compile(r".*:\s*([01]|[01]?\.\d+|\d(?:\.\d+)?[eE]-\d+)", re.ASCII | re.DOTALL)

Attributes = dict[str, str]


class _Edges:
    """Named states, numbered in the order in which they are first named, and their edges."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.numbers: dict[str, int] = {}
        self.edges: dict[tuple[int, str], int] = {}
        self.accepting: list[int] = []
        self.outputs: dict[int, str] = {}
        self.written: dict[tuple[int, str], str] = {}

    def state(self, name: str) -> int:
        return self.numbers.setdefault(name, len(self.numbers))

    def add(self, source: str, symbol: str, target: str, where: str) -> None:
        edge, found = (self.state(source), symbol), self.state(target)
        if self.edges.setdefault(edge, found) != found:
            raise ValueError(
                f"From a state of a deterministic automaton one edge must read a symbol. Received: {self.what}, "
                f"{where}: a second one from {source} with {symbol!r}. Determinize the automaton first."
            )

    def table(self, start: int, alphabet: Iterable[Hashable] | None) -> Table:
        found = sorted({symbol for _, symbol in self.edges})
        symbols = tuple(found) if alphabet is None else tuple(alphabet)
        names = texts(symbols, f"The alphabet of {self.what}")
        strays = sorted(set(found) - set(names))
        if strays or not symbols or not self.numbers:
            raise ValueError(
                "An automaton must have a state, and an alphabet with every symbol of its edges. Received: "
                f"{self.what} with {len(self.numbers)} states, alphabet {symbols!r}"
                f"{f', and edges with {strays}' if strays else ''}. Pass the alphabet."
            )
        if len(self.numbers) * len(symbols) > MAX_READ:
            raise ValueError(
                f"An automaton that is read must have at most {MAX_READ:,} states times symbols. Received: "
                f"{self.what} with {len(self.numbers):,} states and {len(symbols):,} symbols. Pass a smaller one."
            )
        rows = [[self.edges.get((state, name), -1) for name in names] for state in self.numbers.values()]
        return Table(rows, self.accepting, start, symbols)


def read_dot(text: str, alphabet: Iterable[Hashable] | None) -> Table:
    """A digraph as `to_dot`, AALpy, LearnLib and the Automata Wiki write it.

    An edge from a node of shape none or point, or whose name begins with "__start", points to the start. States with
    two rings accept, and those with an arrow to such a node. The label of an edge is a symbol, or several with ", "
    between them.
    """
    edges, start, has_one_ring = _digraph(text)
    if not edges.accepting and not has_one_ring:
        remedy = (
            "Its states have outputs: read it by MooreMachine.from_dot."
            if edges.outputs
            else "If it accepts no word, give one of its states peripheries=1."
        )
        raise ValueError(
            "An automaton in DOT must have an accepting state: shape=doublecircle, or peripheries=2. Received: none. "
            + remedy
        )
    return edges.table(start, alphabet)


def read_moore_dot(text: str, alphabet: Iterable[Hashable] | None, labels: Iterable[Hashable] | None) -> Table:
    """As `read_dot`, for states with the label "name|output", or LearnLib's "name / output".

    Of a Mealy machine, whose edges have the label "symbol/output", it is the Moore machine of its last outputs.
    """
    edges, start, _ = _digraph(text, mealy=True)
    table = edges.table(start, alphabet)
    if edges.written:
        return _of_mealy(edges, table, labels)
    without = [name for name, state in edges.numbers.items() if state not in edges.outputs]
    if without:
        raise ValueError(
            "A state of a Moore machine in DOT must have the label `name|output`. Received: a digraph whose state "
            f"{without[0]!r} has none. Pass what `to_dot`, AALpy or LearnLib wrote."
        )
    if edges.accepting:
        raise ValueError(
            "A Moore machine must have no accepting states. Received: a digraph with outputs and states of two rings. "
            "Give its states one ring, or read it by DFA.from_dot."
        )
    found = [edges.outputs[state] for state in range(len(edges.numbers))]
    return table._replace(states=_named(found, labels))


def _of_mealy(edges: _Edges, table: Table, labels: Iterable[Hashable] | None) -> Table:
    """The Moore machine of the last outputs of a Mealy machine; the empty word has the output ""."""
    names = texts(table.alphabet, WHAT)
    rows: Rows = [
        {name: target for name, target in zip(names, row, strict=True) if target >= 0} for row in table.transitions
    ]
    written = [{name: edges.written.get((state, str(name)), "") for name in row} for state, row in enumerate(rows)]
    if edges.accepting:
        raise ValueError(
            "States of a Mealy machine in DOT must not accept. Received: a digraph with outputs on its edges and "
            "states of two rings. Pass what AALpy or LearnLib wrote."
        )
    found, outputs, start = of_last_outputs(rows, written, table.start)
    table = table._replace(transitions=[[row.get(name, -1) for name in names] for row in found], start=start)
    return table._replace(
        states=_named([*map(str, outputs)], None if labels is None else [*dict.fromkeys([NOTHING, *labels])])
    )


def _named(found: Sequence[str], labels: Iterable[Hashable] | None) -> list[Hashable]:
    """The labels with these texts; the texts themselves where no labels are given."""
    if labels is None:
        return list(found)
    if not isinstance(labels, Iterable):
        raise invalid("labels", "a sequence of outputs", labels)
    labels = tuple(labels)
    of_text = dict(zip(texts(labels, WHAT, kind="label"), labels, strict=True))
    strays = sorted(set(found) - set(of_text))
    if strays:
        raise ValueError(
            f"`labels` must have every output of the digraph. Received: {labels!r}, and states with {strays}."
        )
    return [of_text[output] for output in found]


def _digraph(text: str, *, mealy: bool = False) -> tuple[_Edges, int, bool]:
    """The states and edges of a digraph, the start, and whether a state has the attribute peripheries=1.

    Args:
        mealy: whether edges may have outputs.
    """
    edges, starts = _Edges("a digraph"), set[str]()
    nodes, arrows = _graph(checked_text(text, "A digraph"))
    marks = {
        name
        for name, found in nodes.items()
        if name.startswith("__start") or found.get("shape") in MARKS or "invis" in found.get("style", "")
    }
    for name, found in nodes.items():
        if name in marks:
            continue
        state, shape = edges.state(name), found.get("shape", "ellipse")
        rings = found.get("peripheries", "2" if shape == "doublecircle" else "1")
        if shape not in STATES or rings not in ("1", "2"):
            raise ValueError(
                f"A state in DOT must be a circle or a box, of one ring, or of two if it accepts. Received: {name!r} "
                f"with shape={shape}, {rings} rings. Change its attributes."
            )
        if rings == "2":
            edges.accepting.append(state)
        label = found.get("label", "")
        record = _RECORD.fullmatch(label) or _OF_LEARNLIB.fullmatch(label)
        if record:
            edges.outputs[state] = _unescaped(record[record.lastindex or 0]).strip()
    labels = [found.get("label", "") for source, _, found in arrows if source not in marks]
    _check_no_probabilities(labels)
    mealy &= not edges.outputs and bool(labels) and all(_MEALY.fullmatch(label) for label in labels)
    for source, target, found in arrows:
        where = f"the edge {source} -> {target}"
        label = found.get("label", "")
        if (source in marks or target in marks) and (label or {source, target} <= marks):
            raise ValueError(
                "An arrow from nowhere to the start, or from an accepting state to nowhere, must have no label. "
                f"Received: a digraph, {where} with {label!r}. Remove it, or give the ends the shape of states."
            )
        if "invis" in found.get("style", ""):
            raise ValueError(f"An edge must be visible. Received: a digraph, {where} with style=invis. Remove it.")
        if source in marks:
            starts.add(target)
        elif target in marks:
            edges.accepting.append(edges.state(source))
        elif mealy and (parts := _MEALY.fullmatch(_unescaped(label))):
            symbol, output = (part.strip() for part in parts.groups() if part is not None)
            edges.add(source, symbol, target, where)
            if edges.written.setdefault((edges.state(source), symbol), output) != output:
                raise ValueError(f"An edge of a Mealy machine must have one output. Received: {where} with two.")
        else:
            for symbol in _symbols(_unescaped(label), where):
                edges.add(source, symbol, target, where)
    if len(starts) != 1 or marks & {end for end, _, _ in arrows} & {end for _, end, _ in arrows}:
        raise ValueError(
            "An edge from a node of shape none, or named __start0, must point to the one start. Received: "
            f"{len(starts)} starts. Add `__start0 [shape=none]; __start0 -> s0;`."
        )
    return edges, edges.state(starts.pop()), any(found.get("peripheries") == "1" for found in nodes.values())


def _check_no_probabilities(labels: Sequence[str]) -> None:
    """Refuses stochastic models, whose edges have the labels "symbol:probability"."""
    found = [_PROBABILITY.fullmatch(label) for label in labels]
    values = [float(each[1]) for each in found if each]
    if len(values) == len(labels) and max(values, default=2) <= 1 and any(0 < value < 1 for value in values):
        raise ValueError(
            "An automaton in DOT must be deterministic. Received: a digraph whose edges have probabilities, such as "
            f"{labels[0]!r}, as a stochastic model of AALpy, which neither DFA nor MooreMachine is. Remove the "
            "probabilities if each symbol has one edge; rename symbols that end in such a number."
        )


def _symbols(label: str, where: str) -> list[str]:
    """The symbols in the label of an edge."""
    names = label.split(", ")
    for name in filter(_is_unclear, names):
        if "/" in name:
            raise ValueError(
                f"An edge of a DFA or a Moore machine must have no output or weight. Received: a digraph, {where} with "
                f"{name!r}, as of a Mealy machine. Read it by MooreMachine.from_dot, or rename a symbol with a / in it."
            )
        if NO_SYMBOL.fullmatch(name):
            raise ValueError(
                f"Every edge of a deterministic automaton must read a symbol. Received: a digraph, {where} with the "
                f"label {label!r}. Remove the epsilon transitions first."
            )
        raise ValueError(
            f'The label of an edge must be a symbol, or several with ", " between them. Received: a digraph, {where} '
            f"with {name!r}. Write it so, or rename a symbol that has a comma, a line break, or blanks around it."
        )
    return names


def _is_unclear(name: str) -> bool:
    """Whether a name in the label of an edge is no symbol, or could be several."""
    parts = len(name) > 1 and (name != name.strip() or re.search(r"[,/\n\r]", name))
    return bool(parts or NO_SYMBOL.fullmatch(name))


def write_dot(
    automaton: FiniteAutomaton, name: str, dashed: Collection[tuple[int, Hashable]] = (), *, accepts: bool
) -> str:
    """As AALpy writes automata: an edge for each symbol, and the label "name|output" for a state with an output."""
    symbols = texts(automaton.alphabet, WHAT, _is_unclear)
    if accepts:
        plain = "circle" if any(automaton.outputs) else "circle, peripheries=1"  # no state accepts
        shapes = [f'", shape={"doublecircle" if accepts else plain}' for accepts in automaton.outputs]
    else:
        shapes = _records(automaton.outputs)
    lines = [f"digraph {_quoted(name)} {{", "  rankdir=LR;"]
    lines += [f'  {state} [label="{state}{shape}];' for state, shape in enumerate(shapes)]
    for state, row in enumerate(automaton.transitions):
        for symbol, text, target in zip(automaton.alphabet, symbols, row, strict=True):
            if target >= 0:
                style = ", style=dashed" if (state, symbol) in dashed else ""
                lines.append(f"  {state} -> {target} [label={_quoted(text)}{style}];")
    lines += ['  __start0 [label="", shape=none];', f'  __start0 -> {automaton.start} [label=""];', "}"]
    return "\n".join(lines)


def _records(outputs: Sequence[Hashable]) -> list[str]:
    """The rest of the attributes of states with outputs."""
    different = list(dict.fromkeys(outputs))
    names = texts(different, WHAT, lambda text: text != text.strip() or "\n" in text, "output")
    quoted = [re.sub(r"([{}|<>])", r"\\\1", _quoted(name)[1:]) for name in names]
    of_output = dict(zip(different, quoted, strict=True))
    return [f"|{of_output[output]}, shape=record, style=rounded" for output in outputs]


def _quoted(text: object) -> str:
    """A string of DOT."""
    if not isinstance(text, str):
        raise invalid("name", "a string", text)
    return '"' + re.sub(r'[\\"\n\r]', lambda sign: {"\n": r"\n", "\r": r"\r"}.get(sign[0], "\\" + sign[0]), text) + '"'


def _unescaped(label: str) -> str:
    """The text of a label; raises ValueError for an escape that Graphviz replaces by a name, or does not know."""
    unknown = [sign for sign in re.findall(r"\\(.)", label, re.DOTALL) if sign not in ESCAPES]
    if unknown:
        raise ValueError(
            f"An escape in a label must be a backslash before one of {' '.join(ESCAPES).strip()}. Received: {label!r}. "
            "Double a backslash that belongs to the text, and write out a name."
        )
    return re.sub(r"\\(.)", lambda sign: ESCAPES[sign[1]], label)


def _graph(text: str) -> tuple[dict[str, Attributes], list[tuple[str, str, Attributes]]]:
    """The nodes and edges of a digraph with their attributes.

    As in Graphviz, a node or an edge gets the default attributes, `node [...]` and `edge [...]`, that hold where it is
    first named.
    """
    printed = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(printed):  # where pydot prints what it cannot parse
        warnings.simplefilter("ignore", DeprecationWarning)  # pydot calls pyparsing by its old names
        with needed("pydot", extra="automata", by="`from_dot`"):
            import pydot
        graphs = pydot.graph_from_dot_data(text)
    if not graphs or len(graphs) > 1 or graphs[0].get_type() != "digraph":
        where = " ".join(printed.getvalue().split())
        raise _unreadable(where or f"{len(graphs or ())} graphs" if text.strip() else text)
    [graph] = graphs
    nodes, edges = dict[str, Attributes](), list[tuple[str, str, Attributes]]()
    _add_graph(graph, {"node": {}, "edge": {}}, nodes, edges)
    if graph.get_strict() and len({(source, target) for source, target, _ in edges}) < len(edges):
        raise ValueError("A strict digraph must have one edge from a state to another. Received: two. Remove `strict`.")
    return nodes, edges


def _add_graph(
    graph: Theirs,
    defaults: Mapping[str, Attributes],
    nodes: dict[str, Attributes],
    edges: list[tuple[str, str, Attributes]],
) -> None:
    """Adds the nodes and edges of a graph, or a subgraph, in the order in which they are written."""
    defaults = {kind: dict(attributes) for kind, attributes in defaults.items()}
    _attributes("graph", graph)
    parts = [*graph.get_nodes(), *graph.get_edges(), *graph.get_subgraphs()]
    for part in sorted(parts, key=lambda part: part.get_sequence()):
        if part.obj_dict["type"] == "edge":
            ends = [_name(end) for end in (part.get_source(), part.get_destination())]
            for end in ends:
                nodes.setdefault(end, dict(defaults["node"]))
            edges.append((ends[0], ends[1], {**defaults["edge"], **_attributes("edge", part)}))
        elif part.obj_dict["type"] == "subgraph":
            _add_graph(part, defaults, nodes, edges)
        elif (kind := part.get_name().lower()) in MEANING:
            defaults.get(kind, {}).update(_attributes(kind, part))
        else:
            nodes.setdefault(_name(part.get_name()), dict(defaults["node"])).update(_attributes("node", part))


def _name(written: Theirs) -> str:
    """A name without its quotes, and without an escaped line break in it."""
    if not isinstance(written, str) or re.fullmatch(r'<.*>|[^":]*:.*|".*":.*', written, re.DOTALL):
        raise _unreadable(written if isinstance(written, str) else "an edge of a subgraph")
    if not written.startswith('"'):
        return written
    return re.sub(r'\\(\r?\n|["\\])', lambda sign: {'"': '"', "\\": r"\\"}.get(sign[1], ""), written[1:-1])


def _attributes(kind: str, part: Theirs) -> Attributes:
    found = {}
    for written, value in part.get_attributes().items():
        key = _name(written)
        if value is None:
            raise _unreadable(f"{key} without a value")
        found[key] = _name(value) if value.startswith(('"', "<")) else value
        _check_attribute(kind, key, found[key])
    return found


_RECORD = re.compile(r"(?:[^|\\{]|\\.)*\|(.*)|\{(?:[^|\\]|\\.)*\|(.*)\}", re.DOTALL)
"""The label of a state with an output; in braces it is drawn upright."""
_OF_LEARNLIB = re.compile(r"(?:(?! / ).)* / ((?:(?! / ).)*)", re.DOTALL)
"""The same as LearnLib writes it."""


_MEALY = re.compile(r"((?:(?! / )[^/])+) / ((?:(?! / ).)*)|([^/]+)/([^/]*)", re.DOTALL)
"""The label of an edge of a Mealy machine."""


def _check_attribute(kind: str, key: str, value: str) -> None:
    if key not in DRAWING and key not in MEANING[kind]:
        raise ValueError(
            f"Attributes of each {kind} must be {', '.join(sorted(MEANING[kind]))}, or concern the drawing alone. "
            f"Received: {key}={value[:60]!r}. Remove it if the automaton does not depend on it."
        )


def _unreadable(found: str) -> ValueError:
    return ValueError(
        "An automaton in DOT must be one digraph of nodes, edges between them, and subgraphs, without ports or HTML. "
        f"Received: {found.strip()[:60]!r}. Pass what `to_dot`, AALpy or the Automata Wiki wrote."
    )
