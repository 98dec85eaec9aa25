// The automaton at each logged step, as the server draws it: centroids keep their places through training.

import {html, lines, LINES, remembering, shown, svg} from './charts.js';

export const title = 'States';
export const about = 'The automaton that a state-regularized network implements, or its transitions between centroids: centroids are nodes, symbols are on the edges.';
export const example = `import keras
from keras_interp_rnn import callbacks, layers

# x: words as ids, 0 is padding, 1 is the start token; y: 0 or 1
symbols = range(2, int(x.max()) + 1)
model = keras.Sequential([
    keras.layers.Embedding(len(symbols) + 2, 16, mask_zero=True),
    layers.SRGRU(24, num_centroids=8),
    keras.layers.Dense(1),
])
model.compile("adam", keras.losses.BinaryCrossentropy(from_logits=True))
model.fit(x, y, callbacks=[
    callbacks.TransitionProbabilities("logs", x[:4]),
    # With few symbols, the automaton too:
    callbacks.Automaton("logs", alphabet={str(i): i for i in symbols}, start=1),
])`;

const AHEAD = 3;
const LABELLED = 120; // with more edges, only those of the selected state have labels

export async function draw(body, page) {
  const {series, state} = page;
  const counted = series.kind === 'transition_counts';
  state.threshold ??= counted ? 0.2 : 0;
  const threshold = html('input', {
    type: 'range', min: 0, max: 1, step: 0.01, 'aria-label': 'minimum probability of the transitions shown',
  });
  threshold.value = String(state.threshold);
  const minimum = html('output', {}, threshold.value);
  const bar = html('label', {class: 'slider'}, 'Minimum probability ', threshold, minimum);
  const numbers = html('dl', {class: 'tiles'});
  const place = html('figure');
  const reference = html('figure');
  const hint = `Click a state for its prototypes, or an edge for example texts. Above ${LABELLED} edges, only the edges of the selected state are labelled.`;
  const details = html('p', {class: 'note', 'aria-live': 'polite'}, hint);
  const columns = Math.max(1, Math.min(3, Math.floor(page.width() / 380)));
  const through = html('div', {class: 'side'}, ...history(series, state.step, (page.width() - 24 * (columns - 1)) / columns, (step) => page.go({step})));
  const expected = series.reference_graph;
  const labels = series.labels ?? []; // of a Moore machine
  const colours = new Map(labels.length <= LINES.length ? labels.map((label, i) => [label, LINES[i]]) : []);
  const textsTag = page.related('transition_texts');
  let chosen = null;
  let graph = null;

  const graphs = remembering(page.graph);
  const texts = remembering((step) => (textsTag ? page.texts(textsTag, step) : Promise.resolve(null)));

  async function show() {
    const step = state.step;
    const answer = await graphs(step);
    if (!page.current() || step !== state.step) return;
    graph = answer;
    bar.hidden = !graph.edges.some(({symbols}) => symbols.some(([, probability]) => probability !== null));
    paint();
    page.remember();
    const at = page.steps.indexOf(step);
    for (let i = at - AHEAD; i <= at + AHEAD; i++) if (i in page.steps) graphs(page.steps[i]);
  }

  function paint() {
    place.replaceChildren(
      html('figcaption', {}, `${counted ? 'Transitions' : 'Automaton'}${page.steps.length > 1 ? ` at step ${state.step}` : ''}: ${numberOf(graph.states)}${labels.length ? ', by output: ' : ''}`,
        ...labels.flatMap((label) => [colours.has(label) ? html('span', {style: `color: ${colours.get(label)}`}, '■\u00a0') : '', `${label}  `])),
      html('div', {class: 'scroll'}, fitting(picture(graph, series.positions, state.threshold, chosen, pick, colours), expected ? page.width() / 2 : page.width())),
    );
    numbers.replaceChildren(...measured(graph));
    for (const chart of through.querySelectorAll('svg')) chart.mark(state.step);
    describe();
  }

  function pick(what) {
    chosen = what;
    paint();
  }

  async function describe() {
    if (!chosen) {
      details.textContent = hint;
      return;
    }
    const mine = chosen;
    const logged = await texts(state.step).catch(() => null);
    if (mine === chosen && page.current()) details.textContent = (chosen.kind === 'state' ? describeState : describeEdge)(chosen, graph, logged);
  }

  threshold.addEventListener('input', () => {
    minimum.textContent = threshold.value;
    state.threshold = Number(threshold.value);
    paint();
    page.remember();
  });
  if (expected) {
    reference.append(html('figcaption', {}, 'Reference'),
      html('div', {class: 'scroll'}, fitting(picture(expected, expected.positions, 0, null, () => {}, colours), page.width() / 2)));
  }
  body.replaceChildren(
    ...[page.slider(show)].filter(Boolean),
    bar,
    numbers, details,
    html('div', {class: 'pair'}, place, reference), through,
    page.downloads(() => place.querySelector('svg'), () => rows(graph, state.step), 'automaton'),
  );
  await show();
}

/** The callback's measurements: a tile for each that is known. */
function measured(graph) {
  const tiles = [];
  const tile = (value, name) => tiles.push(html('div', {}, html('dt', {}, name), html('dd', {}, value)));
  tile(String(graph.states.length), graph.states.length === 1 ? 'state' : 'states');
  if (Number.isInteger(graph.minimal)) tile(String(graph.minimal), 'after minimization');
  if (Number.isFinite(graph.agreement)) tile(percent(graph.agreement), 'of test words: agrees with the network');
  if (graph.equivalent === true) tile('yes', 'equivalent to the reference');
  if (graph.equivalent === false) tile('no', `equivalent to the reference: they differ on ${quoted(graph.counterexample ?? [])}`);
  if (graph.equivalent !== true && Number.isFinite(graph.distance)) tile(percent(graph.distance), 'of its words: differs from the reference');
  if (Number.isFinite(graph.entropy)) tile(`${shown(graph.entropy)} nats`, 'entropy of the transitions');
  return tiles;
}

const percent = (part) => `${(100 * part).toFixed(1)}%`;

/** A drawing, up to 1.6 times its size where there is room, and never so small that its text cannot be read. */
function fitting(drawing, width) {
  const {width: own, height} = drawing.viewBox.baseVal;
  const factor = Math.max(0.75, Math.min(1.6, (width - 24) / own, 560 / height));
  drawing.setAttribute('width', Math.round(factor * own));
  drawing.setAttribute('height', Math.round(factor * height));
  drawing.style.maxWidth = 'none';
  return drawing;
}

const numberOf = ({length}) => `${length} ${length === 1 ? 'state' : 'states'}`;

/** A drawing of a graph: positions of its states, and routes of its edges with the centres of their labels; colours of
 * the outputs of states. */
function picture(graph, positions, threshold, chosen, onpick, colours) {
  const [, , width, height] = graph.box;
  const root = svg('svg', {viewBox: graph.box.join(' '), width, height, role: 'img', 'aria-label': `automaton of ${numberOf(graph.states)}`});
  root.append(svg('defs', {}, svg('marker', {id: 'tip', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 9,
    markerHeight: 9, markerUnits: 'userSpaceOnUse', orient: 'auto-start-reverse'}, svg('path', {d: 'M0 0L8 4L0 8z', fill: 'currentColor', opacity: 0.7}))));
  const shownEdges = graph.edges
    .map(({from, to, symbols, unsupported = []}, i) => ({from, to, unsupported, route: graph.routes[i], symbols: symbols.filter(([, p]) => p === null || p >= threshold)}))
    .filter(({symbols}) => symbols.length);
  const many = shownEdges.length > LABELLED;
  const isChosen = ({from, to}) => chosen !== null &&
    (chosen.kind === 'state' ? from === chosen.id || to === chosen.id : from === chosen.from && to === chosen.to);
  const paths = svg('g', {}), labels = svg('g', {});
  const dim = []; // edges without a label: all of a width in one path
  for (const edge of shownEdges) {
    const {from, to, symbols, unsupported, route: [d, x, y]} = edge;
    const known = symbols.map(([, probability]) => probability).filter((probability) => probability !== null);
    const highest = known.length ? Math.max(...known) : null;
    const near = isChosen(edge);
    if (many && !near) {
      const bin = highest === null ? 2 : Math.round(4 * highest);
      dim[bin] = `${dim[bin] ?? ''}${d}`;
      continue;
    }
    const look = `${near && (many || chosen.kind === 'edge') ? ' chosen' : ''}${symbols.every(([name]) => unsupported.includes(name)) ? ' unsupported' : ''}`;
    paths.append(svg('path', {d, class: `edge${look}`, 'marker-end': 'url(#tip)', 'data-edge': `${from},${to}`,
      'stroke-width': highest === null ? 1 : 0.6 + 1.4 * highest}));
    labels.append(svg('text', {x, y: y + 4, 'text-anchor': 'middle', class: 'label', tabindex: 0, role: 'button',
      'data-edge': `${from},${to}`, 'aria-label': says(graph, edge)}, svg('title', {}, says(graph, edge)), shortened(symbols, unsupported)));
  }
  dim.forEach((d, bin) => root.append(svg('path', {d, class: 'edge dim', 'stroke-width': 0.6 + 0.35 * bin})));
  root.append(paths);
  for (const group of [paths, labels]) {
    const pick = (event) => {
      const edge = event.target.closest('[data-edge]')?.getAttribute('data-edge').split(',').map(Number);
      if (edge) onpick({kind: 'edge', from: edge[0], to: edge[1]});
    };
    group.addEventListener('click', pick);
    group.addEventListener('keydown', (event) => event.key === 'Enter' && pick(event));
  }
  if (graph.start !== null) {
    const [x, y] = positions[graph.start];
    const left = x - graph.radii[graph.start];
    root.append(svg('path', {d: `M${left - 26} ${y}H${left - 1}`, class: 'edge', 'marker-end': 'url(#tip)'}));
  }
  root.append(labels);
  for (const {id, accepting, use, output, inside = [[String(id), 0, 12]]} of graph.states) {
    const [cx, cy] = positions[id];
    const r = graph.radii[id];
    const pick = () => onpick({kind: 'state', id});
    const label = output === undefined ? (accepting ? ', accepting' : '') : `, output ${output}`;
    const text = `state ${nameOf(graph, id)}${label}${use === null ? '' : `, ${(100 * use).toFixed(1)}% of the steps`}`;
    root.append(svg('g', {tabindex: 0, role: 'button', 'data-state': id, 'aria-label': text, onclick: pick,
      onkeydown: (event) => event.key === 'Enter' && pick()},
      svg('title', {}, text),
      svg('circle', {cx, cy, r, class: `node${chosen?.kind === 'state' && chosen.id === id ? ' chosen' : ''}`}),
      accepting ? svg('circle', {cx, cy, r: r - 3.5, class: 'ring'}) : null,
      output === undefined ? null : svg('path', {d: `M${cx - r} ${cy}A${r} ${r} 0 0 0 ${cx + r} ${cy}Z`, class: 'output',
        style: `fill: ${colours.get(output) ?? 'none'}`}),
      ...inside.map(([line, below, size]) =>
        svg('text', {x: cx, y: cy + below + size / 3, 'text-anchor': 'middle', style: `font-size: ${size}px`}, line)),
    ));
  }
  return root;
}

/** What a state is called: its centroid, unless it has a name. */
function nameOf(graph, id) {
  return graph.states.find((one) => one.id === id)?.name ?? String(id);
}

function says(graph, {from, to, symbols, unsupported}) {
  const missing = unsupported?.length ? `; no word takes ${unsupported.join(', ')}` : '';
  return `${nameOf(graph, from)} to ${nameOf(graph, to)} by ${symbols.map(named).join(', ')}${missing}`;
}

function named([name, probability]) {
  return `${name || 'any symbol'}${probability === null ? '' : ` (${shown(probability)})`}`;
}

/** At most four names, of at most 16 characters, and how many more; the probability of a symbol without a name; in
 * parentheses what no word takes. */
function shortened(symbols, unsupported) {
  const short = ([name, probability]) => (name.length > 16 ? `${name.slice(0, 15)}…` : name) || `${Math.round(100 * probability)}%`;
  const names = symbols.map((symbol) => (unsupported.includes(symbol[0]) ? `(${short(symbol)})` : short(symbol)));
  return names.length <= 4 ? names.join(', ') : `${names.slice(0, 3).join(', ')} +${names.length - 3}`;
}

/** The prototypes of a state, and the shortest word that leads there if the start is known. */
function describeState({id}, graph, texts) {
  const state = graph.states.find((one) => one.id === id);
  if (!state) return `State ${id} is not reached at this step.`;
  const arriving = graph.edges.filter(({to}) => to === id).flatMap(({symbols}) => symbols);
  const best = texts?.prototypes?.[id] ?? distinct(arriving).slice(0, 5);
  const label = state.output === undefined ? {true: ', accepting', false: ', rejecting'}[state.accepting] ?? '' : `, output ${state.output}`;
  const parts = [`State ${nameOf(graph, id)}${label}.`];
  if (state.use !== null) parts.push(`${(100 * state.use).toFixed(1)}% of the steps end here.`);
  parts.push(best.length ? `Prototypes: ${best.map(named).join(', ')}.` : 'No symbol leads here.');
  if (graph.start !== null) {
    const word = shortest(graph).get(id);
    parts.push(`Shortest word: ${word ? quoted(word) : 'none'}.`);
  }
  return parts.join(' ');
}

/** Texts that end with an edge: logged ones, or the shortest words. */
function describeEdge({from, to}, graph, texts) {
  const edge = graph.edges.find((one) => one.from === from && one.to === to);
  if (!edge) return `There is no edge from ${from} to ${to} at this step.`;
  const summary = `From ${nameOf(graph, from)} to ${nameOf(graph, to)} by ${edge.symbols.slice(0, 8).map(named).join(', ')}.${edge.unsupported ? ` No word takes ${edge.unsupported.slice(0, 8).join(', ')}.` : ''}`;
  const logged = (texts?.moves ?? []).filter(([, state, target]) => state === from && target === to);
  if (logged.length) return `${summary} Texts: ${logged.slice(0, 5).map(([, , , text]) => `“… ${text}”`).join(', ')}.`;
  const word = shortest(graph).get(from);
  if (!word) return summary;
  return `${summary} Shortest words: ${edge.symbols.slice(0, 5).map(([name]) => quoted([...word, name])).join(', ')}.`;
}

function quoted(word) {
  return word.length ? `“${word.join(' ')}”` : 'the empty word';
}

/** Symbols with their highest probability, the most probable first. */
function distinct(symbols) {
  const best = new Map();
  for (const [name, probability] of symbols) if (!best.has(name) || probability > best.get(name)) best.set(name, probability);
  return [...best].sort((a, b) => b[1] - a[1]);
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

/** Charts of the number of states, entropy and agreement through training, as far as they are known. */
function history({steps, history: numbers}, at, width, onpick) {
  if (steps.length < 2) return [];
  const known = (name) => (numbers[name] ?? []).some((value) => Number.isFinite(value));
  const line = (name, label, color, factor = 1) => known(name) && {name: label, color,
    points: numbers[name].map((value, i) => [steps[i], Number.isFinite(value) ? factor * value : null])};
  const charts = [
    ['states', [line('states', 'reached', LINES[0]), line('minimal', 'after minimization', LINES[1])]],
    ['entropy, nats', [line('entropy', 'entropy of the transitions', LINES[2])]],
    ['% of test words', [line('agreement', 'agrees with the network', LINES[0], 100), line('distance', 'differs from the reference', LINES[1], 100)]],
  ];
  return charts.flatMap(([y, all]) => {
    const series = all.filter(Boolean);
    if (!series.length) return [];
    const legend = series.flatMap(({name, color}) => [html('span', {style: `color:${color}`}, '■ '), `${name}  `]);
    return [html('figure', {}, html('figcaption', {}, ...legend),
      lines(series, {x: 'training step', y, label: `${y} through training`, at, width: Math.min(width, 560), height: 210, whole: y === 'states', onpick}))];
  });
}

function rows(graph, step) {
  const head = ['step', 'from', 'symbol', 'to', 'probability'];
  return [head, ...graph.edges.flatMap(({from, to, symbols}) => symbols.map(([name, probability]) => [step, nameOf(graph, from), name, nameOf(graph, to), probability]))];
}

/** One run in a sentence, for the overview. */
export async function card(page) {
  const series = await page.read(page.entry);
  if (!series.steps.length) return null;
  const graph = await page.graph(series.steps[series.steps.length - 1]);
  const known = [
    graph.equivalent === true ? ', equal to the reference' : null,
    graph.equivalent === false ? `; not yet the reference: they differ on ${quoted(graph.counterexample ?? [])}` : null,
    Number.isFinite(graph.agreement) ? `; it agrees with the network on ${percent(graph.agreement)} of test words` : null,
  ].filter(Boolean);
  const what = series.kind === 'transition_counts' ? ` moves among ${graph.states.length} centroids` : ` is an automaton of ${numberOf(graph.states)}`;
  return {sentence: [page.title || 'The network', what, ...known, '.'], drawing: null};
}
