// The automaton at each logged step: centroids stay where they are while a slider moves through training.

import {html, lines, LINES, remembering, shown, svg} from './charts.js';

export const kinds = ['automaton', 'transition_counts'];
export const title = 'States';
export const about = 'The automaton that a state-regularized network is, or how it moves among its centroids: centroids as nodes, symbols on the edges, through training.';
export const example = `import keras
from keras_interp_rnn import callbacks, layers

# x: words as ids, 0 is padding, 1 the token before each word; y: 0 or 1
symbols = range(2, int(x.max()) + 1)
model = keras.Sequential([
    keras.layers.Embedding(len(symbols) + 2, 16, mask_zero=True),
    layers.SRGRU(24, num_centroids=8),
    keras.layers.Dense(1),
])
model.compile("adam", keras.losses.BinaryCrossentropy(from_logits=True))
model.fit(x, y, callbacks=[
    callbacks.TransitionProbabilities("logs", x[:4]),
    # Where there are few symbols, the automaton too:
    callbacks.Automaton("logs", alphabet={str(i): i for i in symbols}, start=1),
])`;

const RADIUS = 17;
const COLUMN = 120;
const ROW = 84;
const AHEAD = 3;
const LABELLED = 120; // with more edges, only those of the chosen state have labels

export async function draw(body, page) {
  const {series, state} = page;
  const counted = series.kind === 'transition_counts';
  state.threshold ??= counted ? 0.2 : 0;
  const threshold = html('input', {
    type: 'range', min: 0, max: 1, step: 0.01, 'aria-label': 'least probability of a transition that is shown',
  });
  threshold.value = String(state.threshold);
  const least = html('output', {}, threshold.value);
  const numbers = html('p', {class: 'note'});
  const place = html('figure');
  const reference = html('figure');
  const hint = `Click a state for what it stands for, an edge for texts that end with it. With more than ${LABELLED} edges those of the chosen state alone are labelled.`;
  const told = html('p', {class: 'note', 'aria-live': 'polite'}, hint);
  const through = html('div', {class: 'side'}, ...history(series, state.step, (step) => page.go({step})));
  const textsTag = page.related('transition_texts');
  let chosen = null;
  let graph = null;

  const graphs = remembering(page.graph);
  const texts = remembering((step) => (textsTag ? page.texts(textsTag, step) : Promise.resolve(null)));

  async function show() {
    const step = state.step;
    const found = await graphs(step);
    if (!page.current() || step !== state.step) return;
    graph = found;
    paint();
    page.remember();
    const at = series.steps.indexOf(step);
    for (let i = at - AHEAD; i <= at + AHEAD; i++) if (i in series.steps) graphs(series.steps[i]);
  }

  function paint() {
    place.replaceChildren(
      html('figcaption', {}, `States at step ${state.step}: ${graph.states.length}`),
      picture(graph, series.positions, state.threshold, chosen, pick),
    );
    numbers.textContent = measured(graph);
    for (const chart of through.querySelectorAll('svg')) chart.mark(state.step);
    tell();
  }

  function pick(what) {
    chosen = what;
    paint();
  }

  async function tell() {
    if (!chosen) {
      told.textContent = hint;
      return;
    }
    const mine = chosen;
    const found = await texts(state.step).catch(() => null);
    if (mine === chosen && page.current()) told.textContent = chosen.kind === 'state' ? ofState(chosen, graph, found) : ofEdge(chosen, graph, found, series.symbols);
  }

  threshold.addEventListener('input', () => {
    least.textContent = threshold.value;
    state.threshold = Number(threshold.value);
    paint();
    page.remember();
  });
  if (series.reference) {
    const own = plain(series.reference, series.symbols);
    reference.append(html('figcaption', {}, 'Reference'), picture(own, spread(own), 0, null, () => {}));
  }
  body.replaceChildren(
    page.slider(show),
    html('label', {class: 'slider'}, 'Transitions of probability ≥ ', threshold, least),
    numbers, told,
    html('div', {class: 'pair'}, place, reference), through,
    page.downloads(() => place.querySelector('svg'), () => rows(graph, state.step), 'automaton'),
  );
  await show();
}

/** What the callback measured, where it did. */
function measured(graph) {
  const parts = [];
  if (Number.isInteger(graph.minimal)) parts.push(`${graph.minimal} ${graph.minimal === 1 ? 'state' : 'states'} after minimization`);
  if (Number.isFinite(graph.agreement)) parts.push(`agrees with the network on ${(100 * graph.agreement).toFixed(1)} % of test words`);
  if (graph.equivalent === true) parts.push('equivalent to the reference');
  if (graph.equivalent === false) parts.push(`not equivalent to the reference: they differ on ${quoted(graph.counterexample ?? [])}`);
  if (graph.equivalent !== true && Number.isFinite(graph.distance)) parts.push(`differs from the reference on ${(100 * graph.distance).toFixed(1)} % of its words`);
  if (Number.isFinite(graph.entropy)) parts.push(`entropy of the transitions ${shown(graph.entropy)} nats`);
  const said = parts.join(', ');
  return said ? `${said[0].toUpperCase()}${said.slice(1)}.` : '';
}

function picture(graph, positions, threshold, chosen, onpick) {
  const at = new Map(graph.states.map(({id}) => [id, positions[String(id)] ?? [0, 0]]));
  const columns = Object.values(positions).map(([column]) => column);
  const heights = Object.values(positions).map(([, row]) => row);
  const [lowest, highest] = [Math.min(...heights), Math.max(...heights)];
  const width = (Math.max(...columns) + 1) * COLUMN + 60;
  const height = (highest - lowest + 1) * ROW + 76;
  const x = (id) => 70 + at.get(id)[0] * COLUMN;
  const y = (id) => 60 + (at.get(id)[1] - lowest) * ROW;
  const most = Math.max(...graph.states.map(({use}) => use ?? 0));
  const radius = new Map(graph.states.map(({id, use}) => [id, most > 0 ? RADIUS * (0.62 + 0.38 * Math.sqrt((use ?? 0) / most)) : RADIUS]));
  const root = svg('svg', {viewBox: `0 0 ${width} ${height}`, width, height, role: 'img',
    'aria-label': `automaton of ${graph.states.length} ${graph.states.length === 1 ? 'state' : 'states'}`});
  root.append(svg('defs', {}, svg('marker', {id: 'tip', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 9,
    markerHeight: 9, markerUnits: 'userSpaceOnUse', orient: 'auto-start-reverse'}, svg('path', {d: 'M0 0L8 4L0 8z', fill: 'currentColor', opacity: 0.7}))));
  const pairs = new Set(graph.edges.map(({from, to}) => `${from},${to}`));
  const shownEdges = graph.edges
    .map(({from, to, symbols}) => ({from, to, symbols: symbols.filter(([, p]) => p === null || p >= threshold)}))
    .filter(({from, to, symbols}) => symbols.length && at.has(from) && at.has(to));
  const many = shownEdges.length > LABELLED;
  const chosenHere = ({from, to}) => chosen !== null &&
    (chosen.kind === 'state' ? from === chosen.id || to === chosen.id : from === chosen.from && to === chosen.to);
  const paths = svg('g', {}), labels = svg('g', {});
  const all = [...at.values()];
  const dim = []; // what has no label: all of a width in one path
  for (const edge of shownEdges) {
    const {from, to, symbols} = edge;
    const known = symbols.map(([, probability]) => probability).filter((probability) => probability !== null);
    const sure = known.length ? Math.max(...known) : null;
    const path = curve([x(from), y(from)], [x(to), y(to)], at.get(from), at.get(to), all,
      pairs.has(`${to},${from}`), [radius.get(from), radius.get(to)]);
    const near = chosenHere(edge);
    if (many && !near) {
      const bin = sure === null ? 2 : Math.round(4 * sure);
      dim[bin] = `${dim[bin] ?? ''}${path.d}`;
      continue;
    }
    const look = near && (many || chosen.kind === 'edge') ? ' chosen' : '';
    paths.append(svg('path', {d: path.d, class: `edge${look}`, 'marker-end': 'url(#tip)', 'data-edge': `${from},${to}`,
      'stroke-width': sure === null ? 1 : 0.6 + 1.4 * sure}));
    labels.append(svg('text', {x: path.x, y: path.y + 4, 'text-anchor': 'middle', class: 'label', tabindex: 0, role: 'button',
      'data-edge': `${from},${to}`, 'aria-label': says(edge)}, svg('title', {}, says(edge)), shortened(symbols)));
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
  if (graph.start !== null && at.has(graph.start)) {
    const left = x(graph.start) - radius.get(graph.start);
    root.append(svg('path', {d: `M${left - 28} ${y(graph.start)}H${left - 2}`, class: 'edge', 'marker-end': 'url(#tip)'}));
  }
  root.append(labels);
  for (const {id, accepting, use} of graph.states) {
    const picked = chosen?.kind === 'state' && chosen.id === id;
    const pick = () => onpick({kind: 'state', id});
    const said = `state ${id}${accepting ? ', accepting' : ''}${use === null ? '' : `, ${(100 * use).toFixed(1)} % of the steps`}`;
    root.append(svg('g', {tabindex: 0, role: 'button', 'data-state': id, 'aria-label': said, onclick: pick,
      onkeydown: (event) => event.key === 'Enter' && pick()},
      svg('title', {}, said),
      svg('circle', {cx: x(id), cy: y(id), r: radius.get(id), class: `node${picked ? ' chosen' : ''}`}),
      accepting ? svg('circle', {cx: x(id), cy: y(id), r: radius.get(id) - 3.5, class: 'ring'}) : null,
      svg('text', {x: x(id), y: y(id) + 4, 'text-anchor': 'middle'}, String(id)),
    ));
  }
  return root;
}

function says({from, to, symbols}) {
  return `${from} to ${to} by ${symbols.map(named).join(', ')}`;
}

/** A path between two states, and where its label goes. `here` and `there` are columns and rows, `others` those of all
 * states; `back` says whether an edge leads back. */
function curve([x1, y1], [x2, y2], here, there, others, back, [r1, r2]) {
  if (here[0] === there[0] && here[1] === there[1]) {
    // Below the state where another one stands right above it.
    const up = others.some(([column, row]) => column === here[0] && row === here[1] - 1) ? -1 : 1;
    const top = y1 - up * r1;
    const far = top - up * 34;
    return {d: `M${x1 - 8} ${top + 2 * up}C${x1 - 24} ${far} ${x1 + 24} ${far} ${x1 + 8} ${top + 2 * up}`, x: x1, y: top - 25 * up};
  }
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
  const far = Math.abs(here[0] - there[0]) > 1 || here[0] === there[0];
  const bend = back || far ? Math.min(70, 20 + 0.16 * length) : 0;
  const [mx, my] = [(x1 + x2) / 2 + uy * bend, (y1 + y2) / 2 - ux * bend];
  const trim = (px, py, radius) => {
    const distance = Math.hypot(mx - px, my - py) || 1;
    return [px + ((mx - px) / distance) * (radius + 2), py + ((my - py) / distance) * (radius + 2)];
  };
  const [sx, sy] = trim(x1, y1, r1);
  const [ex, ey] = trim(x2, y2, r2);
  return {d: `M${sx} ${sy}Q${mx} ${my} ${ex} ${ey}`, x: (sx + 2 * mx + ex) / 4, y: (sy + 2 * my + ey) / 4};
}

function named([name, probability]) {
  const sure = probability === null ? '' : ` (${shown(probability)})`;
  return `${name || 'any symbol'}${sure}`;
}

/** Some names, and how many more; the share where there are no names. */
function shortened(symbols) {
  const names = symbols.map(([name, probability]) => name || `${Math.round(100 * probability)} %`);
  return names.length <= 4 ? names.join(', ') : `${names.slice(0, 3).join(', ')} +${names.length - 3}`;
}

/** What a state stands for: the tokens that lead there most surely, and the shortest word where the start is known. */
function ofState({id}, graph, texts) {
  const state = graph.states.find((one) => one.id === id);
  if (!state) return `State ${id} is not reached at this step.`;
  const arriving = graph.edges.filter(({to}) => to === id).flatMap(({symbols}) => symbols);
  const best = texts?.prototypes?.[id] ?? distinct(arriving).slice(0, 5);
  const parts = [`State ${id}${state.accepting === null ? '' : state.accepting ? ', accepting' : ', rejecting'}.`];
  if (state.use !== null) parts.push(`${(100 * state.use).toFixed(1)} % of the steps end here.`);
  parts.push(best.length ? `Prototypes: ${best.map(named).join(', ')}.` : 'No symbol leads here.');
  if (graph.start !== null) {
    const word = shortest(graph).get(id);
    parts.push(`Shortest word: ${word ? quoted(word) : 'none'}.`);
  }
  return parts.join(' ');
}

/** Texts that end with an edge: logged ones, or the shortest words. */
function ofEdge({from, to}, graph, texts, names) {
  const edge = graph.edges.find((one) => one.from === from && one.to === to);
  if (!edge) return `There is no edge from ${from} to ${to} at this step.`;
  const said = `From ${from} to ${to} by ${edge.symbols.slice(0, 8).map(named).join(', ')}.`;
  const logged = (texts?.moves ?? []).filter(([, here, there]) => here === from && there === to);
  if (logged.length) return `${said} Texts: ${logged.slice(0, 5).map(([, , , text]) => `“… ${text}”`).join(', ')}.`;
  const word = shortest(graph).get(from);
  if (!word) return said;
  return `${said} Shortest words: ${edge.symbols.slice(0, 5).map(([name]) => quoted([...word, name])).join(', ')}.`;
}

function quoted(word) {
  return word.length ? `“${word.join(' ')}”` : 'the empty word';
}

/** Symbols with their highest probability, the likeliest first. */
function distinct(symbols) {
  const best = new Map();
  for (const [name, probability] of symbols) if (!best.has(name) || probability > best.get(name)) best.set(name, probability);
  return [...best].sort((a, b) => b[1] - a[1]);
}

/** Shortest words from the start; none where it is not known. */
function shortest(graph) {
  if (graph.start === null) return new Map();
  const words = new Map([[graph.start, []]]);
  const queue = [graph.start];
  while (queue.length) {
    const here = queue.shift();
    for (const {from, to, symbols} of graph.edges) {
      if (from !== here || words.has(to)) continue;
      words.set(to, [...words.get(here), symbols[0][0]]);
      queue.push(to);
    }
  }
  return words;
}

/** A logged reference automaton in the form of a graph. */
function plain(reference, names) {
  const found = new Map();
  reference.transitions.forEach((row, from) => row.forEach((to, symbol) => {
    if (to < 0) return;
    const edge = found.get(`${from},${to}`) ?? {from, to, symbols: []};
    edge.symbols.push([names[symbol] ?? String(symbol), null]);
    found.set(`${from},${to}`, edge);
  }));
  const states = reference.transitions.map((_, id) => ({id, accepting: reference.accepting.includes(id), use: null}));
  return {start: reference.start, states, edges: [...found.values()]};
}

/** Positions by layers, for a reference automaton. */
function spread(graph) {
  const words = shortest(graph);
  const layers = new Map();
  for (const {id} of graph.states) {
    const depth = words.get(id)?.length ?? 0;
    layers.set(depth, [...(layers.get(depth) ?? []), id]);
  }
  const found = {};
  for (const [depth, layer] of layers) layer.forEach((id, i) => (found[id] = [depth, i - (layer.length - 1) / 2]));
  return found;
}

/** Lines over the same steps: numbers of states, entropy, and agreement, where they are known. */
function history({steps, history: numbers}, at, onpick) {
  const known = (name) => (numbers[name] ?? []).some((value) => Number.isFinite(value));
  const line = (name, label, color, factor = 1) => known(name) && {name: label, color,
    points: numbers[name].map((value, i) => [steps[i], Number.isFinite(value) ? factor * value : null])};
  const charts = [
    ['states', [line('states', 'reached', LINES[0]), line('minimal', 'after minimization', LINES[1])]],
    ['entropy, nats', [line('entropy', 'of the transitions', LINES[2])]],
    ['% of test words', [line('agreement', 'agree with the network', LINES[0], 100), line('distance', 'differ from the reference', LINES[1], 100)]],
  ];
  return charts.flatMap(([y, all]) => {
    const series = all.filter(Boolean);
    if (!series.length) return [];
    const legend = series.flatMap(({name, color}) => [html('span', {style: `color:${color}`}, '■ '), `${name}  `]);
    return [html('figure', {}, html('figcaption', {}, ...legend),
      lines(series, {x: 'training step', y, label: `${y} through training`, at, width: 400, height: 190, whole: y === 'states', onpick}))];
  });
}

function rows(graph, step) {
  const head = ['step', 'from', 'symbol', 'to', 'probability'];
  return [head, ...graph.edges.flatMap(({from, to, symbols}) => symbols.map(([name, probability]) => [step, from, name, to, probability]))];
}
