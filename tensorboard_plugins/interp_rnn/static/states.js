// The automaton at each logged step: centroids stay where they are while a slider moves through training.

import {html, lines, LINES, shown, svg} from './charts.js';

export const kinds = ['automaton'];
export const title = 'States';
export const about = 'The automaton that a state-regularized network is, through training: centroids as nodes, symbols on the edges.';
export const example = `from keras_interp_rnn import callbacks
model.fit(x, y, callbacks=[callbacks.Automaton("logs")])`;

const RADIUS = 17;
const COLUMN = 120;
const ROW = 84;

export async function draw(body, page) {
  const {series, state} = page;
  const threshold = html('input', {
    type: 'range', min: 0, max: 1, step: 0.01, 'aria-label': 'least confidence of an edge that is shown',
  });
  threshold.value = String(state.threshold ?? 0);
  const least = html('output', {}, threshold.value);
  const place = html('figure');
  const reference = html('figure');
  const told = html('p', {class: 'note'}, 'Click a state or an edge for words that lead there.');
  const counts = html('figure');
  let chosen = null;

  function show() {
    const at = series.steps.indexOf(state.step);
    const automaton = series.automata[at];
    place.replaceChildren(
      html('figcaption', {}, `States at step ${state.step}: ${automaton.centroids.length}${measured(automaton)}`),
      picture(automaton, series, Number(threshold.value), chosen, (what) => {
        chosen = what;
        told.textContent = told_of(what, automaton, series.symbols);
        show();
      }),
    );
    counts.replaceChildren(
      html('figcaption', {}, 'Through training'),
      lines(history(series), {x: 'training step', y: 'states', label: 'number of states through training', at: state.step,
        width: 420, height: 220, onpick: (step) => page.go({step})}),
    );
    page.remember();
  }

  threshold.addEventListener('input', () => {
    least.textContent = threshold.value;
    state.threshold = Number(threshold.value);
    show();
  });
  if (series.reference) {
    const own = {...series.reference, centroids: series.reference.transitions.map((_, i) => i)};
    reference.append(html('figcaption', {}, 'Reference'),
      picture(own, {symbols: series.symbols, positions: spread(own)}, 0, null, () => {}));
  }
  body.replaceChildren(
    page.slider(show),
    html('label', {class: 'slider'}, 'Edges of confidence ≥ ', threshold, least),
    html('div', {class: 'side'}, place, reference, counts),
    told,
    page.downloads(() => place.querySelector('svg'), () => rows(series), 'automaton'),
  );
  show();
}

/** What the callback measured of this automaton, where it did. */
function measured(automaton) {
  const parts = [];
  if (Number.isInteger(automaton.minimal)) parts.push(`${automaton.minimal} after minimization`);
  if (Number.isFinite(automaton.agreement)) parts.push(`agrees with the network on ${(100 * automaton.agreement).toFixed(1)} % of short words`);
  if (Number.isFinite(automaton.distance)) parts.push(`differs from the reference on ${(100 * automaton.distance).toFixed(1)} %`);
  return parts.length ? `; ${parts.join(', ')}` : '';
}

function picture(automaton, series, threshold, chosen, onpick) {
  const at = automaton.centroids.map((centroid) => series.positions[String(centroid)] ?? [0, 0]);
  const columns = Object.values(series.positions).map(([column]) => column);
  const heights = Object.values(series.positions).map(([, row]) => row);
  const [lowest, highest] = [Math.min(...heights), Math.max(...heights)];
  const width = (Math.max(...columns) + 1) * COLUMN + 60;
  const height = (highest - lowest + 1) * ROW + 76;
  const x = (state) => 70 + at[state][0] * COLUMN;
  const y = (state) => 60 + (at[state][1] - lowest) * ROW;
  const root = svg('svg', {viewBox: `0 0 ${width} ${height}`, width, height, role: 'img',
    'aria-label': `automaton of ${at.length} states`});
  root.append(svg('defs', {}, svg('marker', {id: 'tip', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 9,
    markerHeight: 9, markerUnits: 'userSpaceOnUse', orient: 'auto-start-reverse'}, svg('path', {d: 'M0 0L8 4L0 8z', fill: 'currentColor', opacity: 0.7}))));
  const labels = [];
  for (const edge of edges(automaton, series.symbols)) {
    const {from, to, names, confidence} = edge;
    const faint = confidence !== null && confidence < threshold;
    if (faint) continue;
    const path = curve(x(from), y(from), x(to), y(to), from === to, automaton, from, to, at);
    const picked = chosen?.kind === 'edge' && chosen.from === from && chosen.to === to;
    const said = `${automaton.centroids[from]} to ${automaton.centroids[to]} by ${names.join(', ')}`;
    const sure = confidence === null ? '' : `, least confidence ${shown(confidence)}`;
    root.append(svg('path', {d: path.d, class: `edge${picked ? ' chosen' : ''}`, 'marker-end': 'url(#tip)',
      'stroke-width': confidence === null ? 1 : 0.6 + 1.4 * confidence}, svg('title', {}, said + sure)));
    const pick = () => onpick({kind: 'edge', from, to, names});
    labels.push(svg('text', {x: path.x, y: path.y + 4, 'text-anchor': 'middle', class: 'label', tabindex: 0, role: 'button',
      'aria-label': said + sure, onclick: pick, onkeydown: (event) => event.key === 'Enter' && pick()},
      shortened(names)));
  }
  const start = automaton.start;
  root.append(svg('path', {d: `M${x(start) - RADIUS - 28} ${y(start)}H${x(start) - RADIUS - 2}`, class: 'edge',
    'marker-end': 'url(#tip)'}), ...labels);
  automaton.centroids.forEach((centroid, state) => {
    const accepting = automaton.accepting.includes(state);
    const picked = chosen?.kind === 'state' && chosen.state === state;
    const pick = () => onpick({kind: 'state', state});
    root.append(svg('g', {tabindex: 0, role: 'button', 'data-state': centroid,
      'aria-label': `state ${centroid}${accepting ? ', accepting' : ''}`, onclick: pick,
      onkeydown: (event) => event.key === 'Enter' && pick()},
      svg('circle', {cx: x(state), cy: y(state), r: RADIUS, class: `node${picked ? ' chosen' : ''}`}),
      accepting ? svg('circle', {cx: x(state), cy: y(state), r: RADIUS - 4, class: 'ring'}) : null,
      svg('text', {x: x(state), y: y(state) + 4, 'text-anchor': 'middle'}, String(centroid)),
    ));
  });
  return root;
}

/** One edge for all symbols between two states, with the least confidence among them; null where it is not known. */
function edges(automaton, symbols) {
  const found = new Map();
  automaton.transitions.forEach((row, from) => row.forEach((to, symbol) => {
    if (to < 0) return;
    const key = `${from},${to}`;
    const edge = found.get(key) ?? {from, to, names: [], confidence: null};
    edge.names.push(symbols[symbol] ?? String(symbol));
    const sure = automaton.confidence?.[from]?.[symbol] ?? null;
    if (sure !== null) edge.confidence = edge.confidence === null ? sure : Math.min(edge.confidence, sure);
    found.set(key, edge);
  }));
  return [...found.values()];
}

function curve(x1, y1, x2, y2, loop, automaton, from, to, at) {
  if (loop) {
    // Below the state where another one stands right above it.
    const up = at.some(([column, row]) => column === at[from][0] && row === at[from][1] - 1) ? -1 : 1;
    const top = y1 - up * RADIUS;
    const far = top - up * 34;
    return {d: `M${x1 - 8} ${top + 2 * up}C${x1 - 24} ${far} ${x1 + 24} ${far} ${x1 + 8} ${top + 2 * up}`, x: x1, y: top - 25 * up};
  }
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
  const back = automaton.transitions[to].includes(from);
  const far = Math.abs(at[from][0] - at[to][0]) > 1 || at[from][0] === at[to][0];
  const bend = back || far ? Math.min(70, 20 + 0.16 * length) : 0;
  const [mx, my] = [(x1 + x2) / 2 - uy * bend * -1, (y1 + y2) / 2 - ux * bend];
  const trim = (px, py) => {
    const distance = Math.hypot(mx - px, my - py) || 1;
    return [px + ((mx - px) / distance) * (RADIUS + 2), py + ((my - py) / distance) * (RADIUS + 2)];
  };
  const [sx, sy] = trim(x1, y1);
  const [ex, ey] = trim(x2, y2);
  return {d: `M${sx} ${sy}Q${mx} ${my} ${ex} ${ey}`, x: (sx + 2 * mx + ex) / 4, y: (sy + 2 * my + ey) / 4};
}

/** Some names, and how many more. */
function shortened(names) {
  return names.length <= 4 ? names.join(', ') : `${names.slice(0, 3).join(', ')} +${names.length - 3}`;
}

/** Shortest words that reach a state, or that end by an edge. */
function told_of(what, automaton, symbols) {
  const words = shortest(automaton, symbols);
  const quoted = (word) => (word.length ? `“${word.join(' ')}”` : 'the empty word');
  if (what.kind === 'state') {
    const word = words.get(what.state);
    const accepted = automaton.accepting.includes(what.state) ? 'accepting' : 'rejecting';
    return `State ${automaton.centroids[what.state]}, ${accepted}. Shortest word: ${word ? quoted(word) : 'none'}.`;
  }
  const word = words.get(what.from);
  const texts = what.names.slice(0, 5).map((name) => quoted([...(word ?? []), name]));
  return `By ${what.names.join(', ')} from ${automaton.centroids[what.from]} to ${automaton.centroids[what.to]}: ${texts.join(', ')}.`;
}

function shortest(automaton, symbols) {
  const words = new Map([[automaton.start, []]]);
  const queue = [automaton.start];
  while (queue.length) {
    const state = queue.shift();
    automaton.transitions[state].forEach((to, symbol) => {
      if (to < 0 || words.has(to)) return;
      words.set(to, [...words.get(state), symbols[symbol] ?? String(symbol)]);
      queue.push(to);
    });
  }
  return words;
}

/** Positions by layers, for a reference automaton. */
function spread(automaton) {
  const words = shortest(automaton, []);
  const layers = new Map();
  automaton.transitions.forEach((_, state) => {
    const depth = words.get(state)?.length ?? 0;
    layers.set(depth, [...(layers.get(depth) ?? []), state]);
  });
  const found = {};
  for (const [depth, layer] of layers) layer.forEach((state, i) => (found[state] = [depth, i - (layer.length - 1) / 2]));
  return found;
}

function history(series) {
  const points = (f) => series.automata.map((automaton, i) => [series.steps[i], f(automaton)]);
  const found = [{name: 'states reached', color: LINES[0], points: points((automaton) => automaton.centroids.length)}];
  if (series.automata.some((automaton) => automaton.minimal !== undefined)) {
    found.push({name: 'states after minimization', color: LINES[1], dashed: true, points: points((a) => a.minimal ?? null)});
  }
  return found;
}

function rows(series) {
  const head = ['step', 'from', 'symbol', 'to', 'confidence'];
  return [head, ...series.automata.flatMap((automaton, i) => automaton.transitions.flatMap((row, from) => row.map((to, symbol) => [
    series.steps[i], automaton.centroids[from], series.symbols[symbol] ?? symbol,
    to < 0 ? null : automaton.centroids[to], automaton.confidence?.[from]?.[symbol] ?? null,
  ])))];
}
