// The automaton at each logged step, a text's path through it, and what is known of it: states keep their places.

import {html, LINES, remembering, shown, svg} from './charts.js';
import {diagram, keyOf, numberOf, shownEdges} from './graph.js';
import {blank, isolated} from './letters.js';
import {classes, columns, lastMove, logged, walked} from './path.js';
import {csvOf, saveText} from './saving.js';
import {percent} from './scales.js';

export const title = 'States';
export const about = 'The automaton that a state-regularized network is: its states, what moves it from one to another, and the path of a text.';
export const example = `import keras
from keras_interp_rnn import callbacks, datasets, layers

# x: words as ids, 0 is padding, 1 is the start token; y: 0 or 1
words = map(str, range(2, int(x.max()) + 1))
alphabet = datasets.Alphabet(["", "^", *words], padding="", start="^")
model = keras.Sequential([
    keras.layers.Embedding(len(alphabet), 16, mask_zero=True),
    layers.SRGRU(24, num_centroids=8),
    keras.layers.Dense(1),
])
model.compile("adam", keras.losses.BinaryCrossentropy(from_logits=True))
model.fit(x, y, callbacks=[
    callbacks.TransitionProbabilities("logs", x[:4]),
    # With few symbols, the automaton too:
    callbacks.Automaton("logs", alphabet=alphabet),
])`;

const AHEAD = 3;

const IN_A_CARD = 12; // states of the largest automaton that the overview draws

const WORDS = 3; // examples of each answer
const ANSWERS = 4; // that have examples
const TRIED = 2000; // words

const NAMED = 5; // centroids that the sentence names, the most used first

export async function draw(body, page) {
  const {series, state} = page;
  const counted = series.kind === 'transition_counts';
  state.threshold ??= counted ? 0.2 : 0;
  const textsTag = page.related('transition_texts');
  const readTag = page.related('transition_probabilities');
  const outputsTag = page.related('outputs');
  const read = readTag ? await page.seriesOf(readTag).catch(() => null) : null;
  const middle = outputsTag ? await page.seriesOf(outputsTag).then((overview) => overview.middle, () => 0) : 0;
  const sequences = read?.shapes[read.shapes.length - 1]?.[0] ?? 0;
  state.index = Math.min(Math.max(0, state.index ?? 0), Math.max(0, sequences - 1));
  const graphs = remembering(page.graph);
  const beside = (tag, ask) => remembering((...keys) => (tag ? ask(tag, ...keys) : Promise.resolve(null)).catch(() => null), 32);
  const [texts, slices, outputs] = [beside(textsTag, page.texts), beside(sequences ? readTag : null, page.sliceOf), beside(outputsTag, page.sliceOf)];
  const expected = series.reference_graph;
  const labels = series.labels ?? []; // of a Moore machine
  let graph = null, known = null, kinds = null, view = null, chosen = null;
  let text = null, path = null, typed = false, strip = null; // what was logged, what is shown, whether somebody wrote it, its columns

  const headline = html('h2', {class: 'headline', 'aria-live': 'polite'});
  const remarks = html('ul', {style: 'margin: 8px 0; padding-left: 18px; max-width: 110ch'});
  const numbers = html('dl', {class: 'tiles'});
  const place = html('figure', {});
  const reading = html('div', {});
  const result = html('p', {class: 'says', 'aria-live': 'polite'});
  const details = html('div', {class: 'note', 'aria-live': 'polite'});
  const choice = html('label', {}, 'Text ', html('select', {'aria-label': 'text', onchange: (event) => {
    Object.assign(state, {index: Number(event.target.value), token: null});
    show();
  }}, ...[...Array(sequences).keys()].map((i) => html('option', {value: i, selected: i === state.index ? '' : null}, `${i + 1}: ${(read.tokens[i] ?? []).filter(Boolean).slice(0, 8).join(' ')}`))));
  const reference = html('details', {hidden: ''});
  const word = html('input', {type: 'text', size: 20, 'aria-label': 'a word to read', oninput: () => {
    Object.assign(state, {word: word.value, token: null});
    trace();
  }});
  const search = html('input', {type: 'search', size: 16, 'aria-label': 'a state or a symbol to find', oninput: () => mark(true)});
  const threshold = html('input', {type: 'range', min: 0, max: 1, step: 0.01, 'aria-label': 'minimum probability of the transitions shown',
    oninput: () => {
      state.threshold = Number(threshold.value);
      minimum.textContent = threshold.value;
      page.remember();
      paint();
    }});
  threshold.value = String(state.threshold);
  const minimum = html('output', {}, threshold.value);
  const bar = html('label', {class: 'slider'}, 'Minimum probability ', threshold, minimum);
  word.value = state.word ?? '';
  const buttons = html('span', {});
  const merge = html('button', {type: 'button', onclick: () => {
    state.merged = !state.merged;
    chosen = null;
    show();
  }}, 'Merge equal states');
  const examples = html('div', {class: 'examples'});
  const tools = html('div', {class: 'controls'}, counted ? null : html('label', {}, 'Read a word ', word), html('label', {}, 'Find ', search), merge, buttons, bar);

  const colour = ({id, output, use}) => {
    const kind = output !== undefined ? labels.indexOf(output) : kinds ? kinds.of[id] : -1;
    if (kind >= 0) return kind < LINES.length ? `color-mix(in srgb, ${LINES[kind]} ${output === undefined ? 28 : 100}%, transparent)` : null;
    return use === null ? null : `color-mix(in srgb, var(--accent) ${Math.round(40 * use)}%, transparent)`;
  };
  const note = ({id}, most = 10) => {
    const best = known?.prototypes?.[id]?.[0]?.[0];
    return best ? (best.length > most ? `${best.slice(0, most - 1)}…` : best) : null;
  };

  function readWord(letters) {
    word.value = letters;
    word.dispatchEvent(new Event('input'));
  }

  async function show() {
    const {step, index} = state;
    const [answer, logs, slice, said] = await Promise.all([graphs(step), texts(step), slices(step, index), outputs(step)]);
    if (!page.current() || step !== state.step || index !== state.index) return;
    const together = state.merged && answer.merged;
    [graph, known] = [together ? {...answer, ...answer.merged} : answer, logs];
    merge.hidden = !answer.merged;
    merge.setAttribute('aria-pressed', String(Boolean(together)));
    examples.replaceChildren(...(counted || graph.start === null ? [] : exampleWords(graph, readWord)));
    kinds = said && slice ? classes(said, slice.shape[1], index, middle) : null;
    text = slice ? logged(slice, read.tokens[index]) : null;
    bar.hidden = !graph.edges.some(({symbols}) => symbols.some(([, probability]) => probability !== null && probability < 0.995));
    headline.replaceChildren(...verdict(answer, counted ? note : null, readWord));
    const more = graph.verdict?.slice(1) ?? [];
    remarks.hidden = !more.length;
    remarks.replaceChildren(...more.map((line) => html('li', {}, line)));
    numbers.replaceChildren(...measured(graph, series, step));
    reference.hidden = !expected || graph.equivalent === true;
    paint();
    trace();
    page.remember();
    const at = page.steps.indexOf(step);
    for (let i = at - AHEAD; i <= at + AHEAD; i++) if (i in page.steps) graphs(page.steps[i]);
  }

  function paint() {
    const focused = view?.focused();
    view = diagram(graph, graph.positions ?? series.positions, {edges: shownEdges(graph, state.threshold), width: page.width() - 2, fill: colour, note, at: view?.at(),
      says: (what) => (what.kind === 'state' ? sayState : sayEdge)(what, graph, known, kinds), onpick: pick});
    const legend = (labels.length ? labels : kinds ? [...new Set(kinds.of)].sort((a, b) => a - b) : []).map((label) => {
      const i = labels.length ? labels.indexOf(label) : label;
      return [i < LINES.length ? html('span', {style: `color: ${LINES[i]}`}, '■\u00a0') : '', `${labels.length ? '' : 'class '}${label}  `];
    });
    place.replaceChildren(legend.length ? html('figcaption', {}, labels.length ? 'Outputs: ' : 'Colours: ', ...legend.flat()) : '', view.root);
    buttons.replaceChildren(view.buttons);
    if (focused !== undefined) view.focus(focused);
    mark();
  }

  function pick(what) {
    chosen = what;
    mark();
  }

  /** The path of the word, or of the logged text. */
  function trace() {
    typed = graph.start !== null && word.value.trim() !== '';
    path = typed ? walked(graph, word.value) : text;
    strip = path && columns(path, {name: (id) => (id in (series.classes ?? []) ? `${id} ${series.classes[id]}` : nameOf(graph, id)), short: (id) => (series.classes ? String(id) : nameOf(graph, id)), kinds: typed ? null : kinds, onpick: (at) => {
      state.token = state.token === at ? null : at;
      page.remember();
      mark();
    }});
    choice.hidden = sequences < 2 || typed;
    reading.replaceChildren(strip?.root ?? '');
    mark();
  }

  /** What stands out: what is looked for, else what was clicked, else the path. */
  function mark(look = false) {
    const wanted = search.value.trim();
    const found = wanted ? matches(graph, wanted) : null;
    const along = new Set();
    const position = state.token >= 1 && state.token < path?.states.length ? state.token : null;
    if (path && !chosen && !found) {
      const last = position ?? path.states.length - 1;
      for (let t = position !== null ? last - 1 : typed ? 0 : last; t < last; t++) {
        const ends = path.states.slice(t, t + 2).filter((one) => one !== null);
        for (const one of [...ends, ends.length === 2 ? keyOf(...ends) : null]) along.add(one);
      }
    }
    const by = typed ? null : chosen?.kind === 'state' ? chosen.id : kinds ? null : state.centroid ?? null;
    strip?.shade(by, position);
    view.mark({chosen, path: along, found});
    if (look && found?.size) view.show([...found][0]);
    result.textContent = !path ? '' : typed ? ending(graph, path.states[path.states.length - 1]) : by !== null
      ? `Symbols are shaded by the probability of state ${nameOf(graph, by)}.` : kinds
        ? `Predicted: class ${kinds.predicted}. Symbols in blue moved to a state of this class, the others to one of another class.` : '';
    const move = path && !typed && !graph.verdict ? lastMove(path, (id) => nameOf(graph, id)) : '';
    if (move) result.textContent = `${move}. ${result.textContent}`;
    details.replaceChildren(...(found ? [foundIn(found, wanted)] : chosen ? described(chosen, graph, known, kinds, pick) : []));
  }

  if (expected) {
    reference.append(html('summary', {}, `The reference: ${numberOf(expected.states)}`), diagram(expected, expected.positions, {
      edges: shownEdges(expected, 0), width: page.width(), fill: (node) => (node.output === undefined ? null : colour(node)), note: () => null, says: () => ''}).root);
  }
  page.slider(show);
  body.replaceChildren(
    headline, tools, examples, choice, reading, result, place, details, remarks, numbers, reference,
    page.downloads(() => view.whole(), () => rows(graph, state.step), {file: `automaton ${page.title}`}),
  );
  if (sequences) body.lastChild.append(html('button', {type: 'button', onclick: () => saveText(csvOf(probabilities(text, state)), 'transitions.csv', 'text/csv')}, 'Text as CSV'));
  await show();
}

/** The verdict as a sentence. note: of a state, a word for it, where moves were counted; `onword`, if given, reads the word on
 * which two automata differ. */
function verdict(graph, note, onword) {
  const {states, minimal, agreement, equivalent, counterexample} = graph;
  const one = `${[8, 11, 18].includes(states.length) || String(states.length).startsWith('8') ? 'An' : 'A'} ${states.length}-state automaton`;
  if (graph.verdict?.length) return [graph.verdict[0]];
  if (note) {
    const named = [...states].sort((a, b) => b.use - a.use)
      .map(({id}) => `${nameOf(graph, id)}${note({id}, 20) ? ` (“${note({id}, 20)}”)` : ''}`);
    if (named.length < 2) return [`The network stays in its centroid ${named[0]}.`];
    const first = named.slice(0, Math.min(named.length, NAMED) - 1);
    const rest = named.length > NAMED ? `${named.length - first.length} others` : named[first.length];
    return [`The network moves between ${named.length} of its centroids: ${first.join(', ')} and ${rest}.`];
  }
  if (equivalent === true) return [`${one}, equivalent to the reference automaton.`];
  if (equivalent === false) {
    const word = counterexample ?? [];
    const say = quoted(word);
    return ['Not yet the reference: they differ on ', word.length && onword ? html('button', {type: 'button', style: 'font: inherit; padding: 0 4px; border: 1px solid var(--line); border-radius: 4px; background: none; color: inherit; cursor: pointer',
      'aria-label': `read ${say}`, onclick: () => onword(word.join(blank(word)))}, say) : say, '.'];
  }
  const smaller = Number.isInteger(minimal) && minimal < states.length ? `, ${minimal} when equivalent ones are merged` : '';
  return [`${one}${smaller}${Number.isFinite(agreement) ? `; it agrees with the network on ${percent(agreement)} of the test words` : ''}.`];
}

/** The callback's measurements: a tile for each that is known, with its course through training. */
function measured(graph, {steps, history}, step) {
  const tile = (value, name, values) => html('div', {}, html('dt', {}, name), html('dd', {}, value, course(values ?? [], steps, step)));
  return [
    steps.length > 1 && tile(String(graph.states.length), graph.states.length === 1 ? 'state' : 'states', history.states),
    steps.length > 1 && graph.minimal < graph.states.length && tile(String(graph.minimal), 'when equivalent ones are merged', history.minimal),
    Number.isFinite(graph.agreement) && tile(percent(graph.agreement), 'of the test words: agrees with the network', history.agreement),
    graph.equivalent !== true && Number.isFinite(graph.distance) && tile(percent(graph.distance), 'of its words: differs from the reference', history.distance),
    Number.isFinite(graph.entropy) && graph.entropy >= 0.01 && tile(`${shown(graph.entropy)} nats`, 'entropy of the transitions', history.entropy),
  ].filter(Boolean);
}

/** A small line through training; none where nothing changes. */
function course(values, steps, step) {
  const numbers = values.filter(Number.isFinite);
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  if (numbers.length < 2 || low === high) return null;
  const at = (value, i) => [4 + (82 * i) / (values.length - 1), 19 - (16 * (value - low)) / (high - low)].map((x) => x.toFixed(1));
  const points = values.map((value, i) => (Number.isFinite(value) ? at(value, i) : null));
  const here = points[steps.indexOf(step)];
  return svg('svg', {width: 90, height: 22, viewBox: '0 0 90 22', role: 'img', 'aria-label': `through training: from ${shown(numbers[0])} to ${shown(numbers[numbers.length - 1])}`, style: 'margin-left: 10px'},
    svg('path', {d: `M${points.filter(Boolean).map((point) => point.join(' ')).join('L')}`, style: 'fill: none; stroke: var(--accent); stroke-width: 1.5'}),
    here ? svg('circle', {cx: here[0], cy: here[1], r: 3, style: 'fill: var(--accent)'}) : null);
}



/** States and edges whose name or symbol is, or else begins with, what is looked for. */
function matches(graph, wanted) {
  const by = (holds) => new Set([...graph.states.filter(({id}) => holds(nameOf(graph, id))).map(({id}) => id),
    ...graph.edges.filter(({symbols}) => symbols.some(([name]) => holds(name))).map(({from, to}) => keyOf(from, to))]);
  const exact = by((name) => name === wanted);
  return exact.size ? exact : by((name) => name.toLowerCase().startsWith(wanted.toLowerCase()));
}

function foundIn(found, wanted) {
  const edges = [...found].filter((one) => typeof one === 'string').length;
  return `“${wanted}”: ${numberOf({length: found.size - edges})} and ${edges} ${edges === 1 ? 'edge' : 'edges'}.`;
}

/** What a state is called: its centroid, unless it has a name. */
function nameOf(graph, id) {
  return graph.states.find((one) => one.id === id)?.name ?? String(id);
}

function labelOf(state, kinds) {
  if (state.output !== undefined) return `, output ${state.output}`;
  return {true: ', accepting', false: ', rejecting'}[state.accepting] ?? (kinds ? `, class ${kinds.of[state.id]}` : '');
}

/** What the end of a word means. */
function ending(graph, id) {
  if (id === null) return 'No edge has this symbol: the word leads nowhere.';
  const state = graph.states.find((one) => one.id === id);
  return `It ends in state ${nameOf(graph, id)}${labelOf(state, null)}.`;
}

function sayState({id}, graph, known, kinds) {
  const state = graph.states.find((one) => one.id === id);
  const best = known?.prototypes?.[id] ?? [];
  return `state ${nameOf(graph, id)}${labelOf(state, kinds)}${state.use === null ? '' : `, ${percent(state.use)} of the steps`}${best.length ? `; after ${best.slice(0, 3).map(([name]) => name).join(', ')}` : ''}`;
}

function sayEdge({from, to}, graph) {
  const {symbols, unsupported} = graph.edges.find((one) => one.from === from && one.to === to);
  const missing = unsupported?.length ? `; no word takes ${unsupported.join(', ')}` : '';
  return `${nameOf(graph, from)} to ${nameOf(graph, to)} by ${symbols.slice(0, 12).map(named).join(', ')}${symbols.length > 12 ? ` and ${symbols.length - 12} more` : ''}${missing}`;
}

function named([name, probability]) {
  return `${name || 'any symbol'}${probability === null ? '' : ` (${shown(probability)})`}`;
}

/** A state with its prototypes, a shortest word and its edges; or an edge with the texts that end with it. */
function described(what, graph, known, kinds, pick) {
  if (what.kind === 'edge') return [describeEdge(what, graph, known)];
  const state = graph.states.find((one) => one.id === what.id);
  if (!state) return [`State ${what.id} is not reached at this step.`];
  const best = known?.prototypes?.[what.id] ?? [];
  const parts = [`State ${nameOf(graph, what.id)}${labelOf(state, kinds)}.`];
  if (state.use !== null) parts.push(`${percent(state.use)} of the steps end here.`);
  if (best.length) parts.push(`Prototypes: ${best.map(named).join(', ')}.`);
  if (graph.start !== null) {
    const word = shortest(graph).get(what.id);
    parts.push(`Shortest word: ${word ? quoted(word) : 'none'}.`);
  }
  const ways = graph.edges.filter(({from}) => from === what.id).map(({from, to, symbols}) => html('button', {type: 'button',
    onclick: () => pick({kind: 'edge', from, to})}, `${symbols.slice(0, 4).map(([name, p]) => name || shown(p)).join(', ')}${symbols.length > 4 ? ' …' : ''} → ${nameOf(graph, to)}`));
  return [html('p', {style: 'margin: 0'}, parts.join(' ')), html('div', {class: 'controls'}, ...ways)];
}

/** Texts that end with an edge: logged ones, or the shortest words. */
function describeEdge({from, to}, graph, texts) {
  const edge = graph.edges.find((one) => one.from === from && one.to === to);
  if (!edge) return `There is no edge from ${from} to ${to} at this step.`;
  const summary = `From ${sayEdge({from, to}, graph)}.`;
  const moves = (texts?.moves ?? []).filter(([, state, target]) => state === from && target === to);
  if (moves.length) return `${summary} Texts: ${moves.slice(0, 5).map(([, , , text]) => `“… ${text}”`).join(', ')}.`;
  const word = shortest(graph).get(from);
  if (!word) return summary;
  return `${summary} Shortest words: ${edge.symbols.slice(0, 5).map(([name]) => quoted([...word, name])).join(', ')}.`;
}

function quoted(word) {
  return word.length ? `“${isolated(word.join(blank(word)))}”` : 'the empty word';
}

/** The shortest word to each state; none if the start is not known. */
function shortest(graph) {
  if (graph.start === null) return new Map();
  const words = new Map([[graph.start, []]]);
  const queue = [graph.start];
  while (queue.length) {
    const state = queue.shift();
    for (const {from, to, symbols} of graph.edges) {
      if (from !== state || words.has(to)) continue;
      words.set(to, [...words.get(state), symbols[0][0]]);
      queue.push(to);
    }
  }
  return words;
}

/** The shortest words of each answer, as buttons that read them. */
function exampleWords(graph, onword) {
  const states = new Map(graph.states.map((state) => [state.id, state]));
  const answer = ({accepting, output}) => output ?? {true: 'accepted', false: 'rejected'}[accepting];
  const wanted = [...new Set(graph.states.map(answer))].filter((one) => one !== undefined).sort().slice(0, ANSWERS);
  const found = new Map(wanted.map((one) => [one, []]));
  const symbols = [...new Set(graph.edges.flatMap(({symbols: all}) => all.map(([name]) => name)))].sort();
  const next = new Map(graph.edges.flatMap(({from, to, symbols: all}) => all.map(([name]) => [`${from} ${name}`, to])));
  const queue = [{word: [], at: graph.start}];
  for (let tried = 0; tried < TRIED && queue.length && [...found.values()].some((words) => words.length < WORDS); tried++) {
    const {word, at} = queue.shift();
    const words = found.get(answer(states.get(at)));
    if (word.length && words?.length < WORDS) words.push(word);
    queue.push(...symbols.map((name) => ({word: [...word, name], at: next.get(`${at} ${name}`)})).filter((one) => one.at !== undefined));
  }
  const button = (word) => html('button', {type: 'button', class: 'more', 'aria-label': `read ${quoted(word)}`, onclick: () => onword(word.map((name) => (name === '␣' ? ' ' : name)).join(blank(word)))}, isolated(word.join(blank(word))));
  return [...found].filter(([, words]) => words.length).map(([one, words]) => html('span', {}, `${one}: `, ...words.flatMap((word) => [button(word), ' '])));
}

function rows(graph, step) {
  const head = ['step', 'from', 'symbol', 'to', 'probability'];
  return [head, ...graph.edges.flatMap(({from, to, symbols}) => symbols.map(([name, probability]) => [step, nameOf(graph, from), name, nameOf(graph, to), probability]))];
}

/** Of a logged text the probability of every state after each token. */
function probabilities({tokens, places, alpha}, {step, index}) {
  const head = ['step', 'text', 'index', 'position', 'token', ...[...(alpha[0] ?? []).keys()].map((i) => `centroid ${i}`)];
  return [head, ...tokens.map((token, t) => [step, index + 1, places[t], places[t] + 1, token, ...alpha[t]])];
}

/** One run in a sentence, for the overview. */
export async function card(page) {
  const series = await page.read(page.entry);
  if (!series.steps.length) return null;
  const graph = await page.graph(series.steps[series.steps.length - 1]);
  const [first, ...others] = verdict(graph, series.kind === 'transition_counts' ? () => null : null);
  const small = graph.states.length <= IN_A_CARD;
  let picture = null; // drawn once
  return {
    short: numberOf(graph.states),
    sentence: [`${page.title || 'The network'}: ${first.replace(/^(An?|Not|The) /, (word) => word.toLowerCase())}`, ...others],
    drawing: small ? (width) => picture ??= diagram(graph, series.positions, {
      edges: shownEdges(graph, 0.2), width: Math.min(width, 560), fill: () => null, note: () => null, says: () => ''}).root : null,
  };
}
