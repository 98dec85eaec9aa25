"""A small automaton from labelled words by rules about patterns: families, tiers, and the automaton of a tree.

If single symbols determine a label, that is the rule. Otherwise each family of patterns, of one kind and on all symbols
or on a tier, is judged by the first decision tree that grows in it; the best families are searched (`_pattern_trees`).
The tiers are those on which some factor separates the labels well. The best tree is moved to tiers that differ by one
symbol as long as it contradicts fewer words there.

The automaton of the best tree is the product of the automata of its patterns.

Of more than 32 symbols the 16 whose numbers tell most are tried first, with one symbol for all others. Rules of which
no single symbol tells anything are left to the search on all symbols, which takes minutes for a hundred of them.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np

from keras_interp_rnn._types import Ints
from keras_interp_rnn.automata.inference._deadline import NEVER, Deadline, Limits, TimeUp
from keras_interp_rnn.automata.inference._pattern_trees import MARGIN, Node, Search, Tree, label_bits, patterns_of
from keras_interp_rnn.automata.inference._patterns import Family, Pattern, read
from keras_interp_rnn.automata.inference._prefix_tree import Machine, Words
from keras_interp_rnn.automata.inference._tree_automata import tree_automaton
from keras_interp_rnn.automata.machines import MooreMachine

SAMPLE, SCREENED = 1000, 500
"""Words of each label that a search reads at first, and that decide which families are searched."""

MIN_SAVED = 10.0
"""Bits of the labels alone that rules must save: with labels in random order some do about once in a thousand times."""

INDICATIVE = 0.9  # fraction of the words with a symbol that must have one label, for the symbol to indicate it
MAX_PRODUCT = 400_000  # transitions of the automaton before it is minimized
SECONDS = 60.0  # computing time after which the search ends
NUM_TIERS = 3  # tiers that are searched in addition to the whole alphabet
CLIMBED = 24  # factors for which tiers are looked for

MANY_SYMBOLS, FEWER_SYMBOLS, SECONDS_OF_FEWER = 32, 16, 20.0
"""Number of symbols above which so few are tried first, and computing time for these."""

FactorOnTier = tuple[tuple[int, ...], tuple[int, ...]]
"""Symbols of a factor, and of the tier."""


def shortest_rules(words: Words, limits: Limits, start: Machine | None = None) -> Machine | None:
    """The automaton of the tree with the shortest description that is found.

    Args:
        start: an automaton of some of the words; returned if it contradicts no word, else the search begins with its
            rules.

    Returns:
        The minimal automaton; None if none saves `MIN_SAVED` bits of the labels alone, or if it would be too large.
    """
    if start is not None and not len(_contradicted(words, start.table)):
        return start
    limits = limits.within(SECONDS)
    single, saved, contradicts = _single_symbols(words, limits.until)
    if saved > MARGIN and not contradicts:
        return single
    fewer = _on_fewer_symbols(words, limits) if limits.exact else None
    if fewer is not None and not len(_contradicted(words, fewer.table)):
        return fewer
    machine, saved_by_tree = _of_trees(words, limits, None if start is None else start.rules)
    if saved_by_tree > max(MIN_SAVED, 0.0 if contradicts else saved):
        return machine
    return single if saved > MIN_SAVED else None


def _of_trees(words: Words, limits: Limits, rules: tuple[Family, Tree] | None = None) -> tuple[Machine | None, float]:
    """The automaton of the best tree, None if it would be too large, and the bits that the tree saves.

    Args:
        rules: to begin with, if there are any.
    """
    rng = np.random.default_rng(limits.seed)

    def search(family: Family, words_of_a_label: int) -> Search:
        return Search(family, words, limits, rng, words_of_a_label)

    best = _last(_searches(search, tuple(range(words.num_symbols)), rules))
    if best is None:
        return None, 0.0
    saved = best.without_rules() - best.shortest
    return _product(best.family, best.tree), saved


def _single_symbols(words: Words, until: Deadline = NEVER) -> tuple[Machine, float, bool]:
    """The rule that any of some symbols makes the label, the bits that it saves, and whether it contradicts a word.

    The symbols are added one by one until they explain the words of the label. A tree would ask for each in a node.
    """
    labels, num_symbols, num_labels = words.labels, words.num_symbols, words.num_labels
    has = np.zeros((len(words), num_symbols), bool)
    for row, word in enumerate(words.words):
        has[row, list(word)] = True
    found = []
    for label in range(num_labels):
        unexplained, table = labels == label, np.repeat([[0], [1]], num_symbols, axis=1)
        indicates = has[unexplained].sum(axis=0) >= INDICATIVE * np.maximum(has.sum(axis=0), 1)
        while (explained := has[unexplained].sum(axis=0) * indicates).any():
            until.check(1)
            symbol = int(explained.argmax())
            table[0, symbol] = 1
            unexplained &= ~has[:, symbol]
        any_of_them = has[:, table[0] == 1].any(axis=1)
        counts = np.stack([np.bincount(labels[rows], minlength=num_labels) for rows in (~any_of_them, any_of_them)])
        size = int(table[0].sum())
        bits = math.log2(num_symbols + 1) + math.log2(math.comb(num_symbols, size)) + float(label_bits(counts).sum())
        found.append((bits, int(counts.sum() - counts.max(axis=1).sum()), Machine(table, counts.argmax(axis=1))))
    bits, wrong, machine = min(found, key=lambda each: each[0])
    return machine, float(label_bits(np.bincount(labels, minlength=num_labels))) - bits, wrong > 0


def _on_fewer_symbols(words: Words, limits: Limits) -> Machine | None:
    """The rules on the symbols whose numbers tell most about the labels, with one symbol for all others.

    A log has a hundred kinds of events, and so ten thousand pairs of them. The description names those that the rules
    tell from all others. None if there are few symbols.
    """
    num_symbols = words.num_symbols
    if num_symbols <= MANY_SYMBOLS:
        return None
    counts = np.stack([np.bincount(word, minlength=num_symbols) for word in words.words]).clip(max=3)
    one_hot = np.eye(words.num_labels)[words.labels]
    rest = sum(
        label_bits(np.stack([one_hot[column == count].sum(axis=0) for column in counts.T])) for count in range(4)
    )
    chosen = np.sort(np.argsort(rest, kind="stable")[:FEWER_SYMBOLS])
    place = np.full(num_symbols, len(chosen))
    place[chosen] = np.arange(len(chosen))
    shorter = [tuple(place[list(word)].tolist()) for word in words.words]
    part = Words(shorter, words.labels, len(chosen) + 1, words.num_labels, words.until)
    found, saved = _of_trees(part, limits.share(1 / 2).within(SECONDS_OF_FEWER))
    if found is None:
        return None
    named = int((found.table[:, :-1] != found.table[:, -1:]).any(axis=0).sum())
    saved -= math.log2(len(chosen) + 1) + math.log2(math.comb(num_symbols, named))
    return Machine(found.table[:, place], found.outputs) if saved > MIN_SAVED else None


def _last(searches: Iterable[Search]) -> Search | None:
    """The last search before the deadline; None if there is none."""
    last = None
    with contextlib.suppress(TimeUp):
        for last in searches:  # noqa: B007
            pass
    return last


def _searches(
    search: Callable[[Family, int], Search], whole: tuple[int, ...], rules: tuple[Family, Tree] | None
) -> Iterator[Search]:
    """Searches one family after the other; yields the best search so far whenever one has advanced.

    Args:
        rules: to begin with, if there are any.
    """
    tried: list[Search] = []
    if rules is not None:
        family, tree = rules
        tried.append(search(family, SAMPLE))
        tried[0].begin_with(tree)
        yield tried[0]
    num_symbols = len(whole)
    tiers = _tiers(search(Family("factor", whole, num_symbols), SCREENED))
    families = [Family(kind, whole, num_symbols) for kind in ("factor", "subsequence", "sequence")]
    families += [Family(kind, tier, num_symbols) for tier in tiers for kind in ("factor", "sequence")]
    screened = {family: search(family, SCREENED).screened() for family in families}

    def best() -> Search:
        return min(tried, key=lambda task: task.shortest)

    for family in sorted(families, key=screened.__getitem__):
        if tried and screened[family] > best().shortest + MARGIN:
            break
        task = search(family, SAMPLE)
        tried.append(task)
        yield best()
        task.grow_roots()
        yield best()
    for task in sorted(tried, key=lambda task: task.shortest):
        if task.shortest < best().shortest + MARGIN:
            task.improve()
            yield best()
    better = best()
    while len(better.family.tier) < num_symbols:
        found = _on_better_tier(better, search)
        if found is None:
            break
        better = found
        yield better
        better.improve()


def _tiers(search: Search) -> list[tuple[int, ...]]:
    """The tiers on which some factor separates the labels best, the best first, from a search on the whole alphabet.

    The factors are two symbols, or two symbols twice or three times. For each factor the search climbs, by a symbol
    more or less, from the whole alphabet and from the symbols of the factor.
    """
    num_symbols = search.family.num_symbols
    whole = range(num_symbols)
    labels, total = search.one_hot.astype(np.float32), search.one_hot.sum(axis=0)
    known: dict[FactorOnTier, float] = {}

    def learn(pairs: Iterable[FactorOnTier]) -> None:
        new = [pair for pair in dict.fromkeys(pairs) if pair not in known]
        made = []
        for factor, tier in new:
            search.until.check()
            place = {symbol: i for i, symbol in enumerate(tier)}
            family = Family("factor", tier, num_symbols)
            made.append(family.on_all_symbols(Pattern((tuple(place[symbol] for symbol in factor),))))
        if new:
            there = (read(made, search.some, search.until).astype(np.float32) @ labels).astype(np.float64)
            saved = label_bits(total) - label_bits(there) - label_bits(total - there)
            known.update(zip(new, saved.tolist(), strict=True))

    factors = (pair * repeats for pair in itertools.product(whole, repeat=2) for repeats in (1, 2, 3))
    everything, pairs = tuple(whole), []
    for factor in factors:
        search.until.check()
        pairs += [(factor, everything), (factor, tuple(sorted({*factor})))]
    learn(pairs)
    for pair in sorted(known, key=known.__getitem__, reverse=True)[:CLIMBED]:
        while True:
            factor, tier = pair
            others = [(factor, tuple(sorted({*tier} ^ {symbol}))) for symbol in whole if symbol not in factor]
            learn(others)
            best = max(others, key=known.__getitem__, default=pair)
            if known[best] <= known[pair]:
                break
            pair = best
    ranked = sorted(known, key=known.__getitem__, reverse=True)
    return [tier for tier in dict.fromkeys(tier for _, tier in ranked) if 1 < len(tier) < num_symbols][:NUM_TIERS]


def _on_better_tier(best: Search, search: Callable[[Family, int], Search]) -> Search | None:
    """A search with the same tree on the neighbouring tier on which it contradicts fewest words; None if not fewer."""
    fewest = len(best.contradicted(best.tree))
    found: tuple[Search, Tree] | None = None
    for family, tree in _on_other_tiers(best) if fewest else ():
        task = search(family, SAMPLE)
        wrong = len(task.contradicted(tree))
        if wrong < fewest:
            fewest, found = wrong, (task, tree)
    if found is None:
        return None
    task, tree = found
    task.begin_with(tree)
    return task


def _on_other_tiers(best: Search) -> Iterator[tuple[Family, Tree]]:
    """The tree of a search on each tier of one symbol more or less that has all symbols of the tree."""
    kind, tier, num_symbols = best.family.kind, best.family.tier, best.family.num_symbols
    places = {place for pattern in patterns_of(best.tree) for piece in pattern.pieces for place in piece}
    used = {tier[place] for place in places if place < len(tier)}
    for symbol in range(num_symbols):
        other = tuple(sorted({*tier} ^ {symbol}))
        if used <= {*other} and 1 < len(other) < num_symbols:
            family = Family(kind, other, num_symbols)
            place = {i: other.index(symbol) for i, symbol in enumerate(tier) if symbol in other}
            place |= {best.family.start: family.start, best.family.end: family.end}
            yield family, _renumbered(best.tree, place)


def _renumbered(tree: Tree, place: Mapping[int, int]) -> Tree:
    """The tree with other numbers for the symbols."""
    if isinstance(tree, int):
        return tree
    pieces = tuple(tuple(place[symbol] for symbol in piece) for piece in tree.pattern.pieces)
    return Node(tree.pattern._replace(pieces=pieces), _renumbered(tree.yes, place), _renumbered(tree.no, place))


def _contradicted(words: Words, table: Ints) -> Ints:
    """The words whose label is not the most frequent one of the words that end in the same state."""
    states = words.tree.states(table)
    outputs = words.tree.counts_of(states, len(table)).argmax(axis=1)
    return np.flatnonzero(outputs[states[words.tree.ends]] != words.labels)


def _product(family: Family, tree: Tree) -> Machine | None:
    """The minimal automaton of a tree; None if it would have more than `MAX_PRODUCT` transitions at first."""
    whole = tree_automaton(family, tree)
    if whole is None or len(whole.table) * family.num_symbols > MAX_PRODUCT:
        return None
    table = whole.table[:, whole.class_of].tolist()
    machine = MooreMachine(table, whole.labels.tolist(), start=whole.start, alphabet=range(family.num_symbols))
    smallest = machine.minimize()
    return Machine(np.array(smallest.transitions), np.array(smallest.outputs), (family, tree))
