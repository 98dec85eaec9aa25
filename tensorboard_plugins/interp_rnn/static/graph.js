// A drawing of states and edges that can be moved, enlarged and searched. layout.py says where everything stands.

import {SANS, widthOf} from './bars.js';
import {html, svg} from './charts.js';

const LABEL = `12px ${SANS}`; // font of an edge
const RADIUS = 17; // of a state, as in layout.py
const LEGIBLE = 0.75; // texts of 12 pixels, but no smaller
const LARGEST = 4;
const HIGHEST = 680;

let drawings = 0; // markers on one page must not share an id

/** What an edge is called among the elements. */
export const keyOf = (from, to) => `${from},${to}`;

/** Edges with the symbols that are at least so probable; those without one are left out. */
export function shownEdges(graph, threshold) {
  return graph.edges
    .map(({from, to, symbols, unsupported = []}, i) => ({from, to, unsupported, route: graph.routes[i], symbols: symbols.filter(([, p]) => p === null || p >= threshold)}))
    .filter(({symbols}) => symbols.length);
}

/** The drawing, with its buttons; `mark` says what stands out, and `whole` is a copy of everything at its own size.
 * options: edges (`shownEdges`), width; fill(state), the colour of a state, and note(state), a few words below it, or null;
 * says(what), a text for {kind: 'state', id} or {kind: 'edge', from, to}; onpick(what), without which it is a picture alone;
 * at, the part that was looked at before. */
export function diagram(graph, positions, options) {
  const [left, top, wide, high] = graph.box;
  const {width} = options;
  const start = framed(graph, positions, options.at, width);
  const {height} = start;
  const least = Math.min(1, width / wide, height / high);
  let at = null;
  const root = svg('svg', {width, height, role: onlyIf(!options.onpick, 'img') ?? 'group', tabindex: onlyIf(options.onpick, 0),
    'aria-label': `automaton of ${numberOf(graph.states)}${options.onpick ? '. Arrows move it, plus and minus enlarge it, 0 shows all of it.' : ''}`,
    style: 'max-width: none; touch-action: pan-y; display: block'});
  const {states, edges} = drawn(root, graph, positions, options);

  const within = (value, low, high) => Math.max(low, Math.min(high, value));
  const look = ({scale, x, y}) => { // x and y are in the middle
    at = {scale: within(scale, least, LARGEST), x: within(x, left, left + wide), y: within(y, top, top + high), height};
    root.setAttribute('viewBox', `${at.x - width / at.scale / 2} ${at.y - height / at.scale / 2} ${width / at.scale} ${height / at.scale}`);
  };
  const fitted = () => {
    const [x, y, across, down] = extent(graph, positions);
    look({scale: Math.min(1.6, width / across, height / down), x: x + across / 2, y: y + down / 2});
  };
  const move = (dx, dy) => look({...at, x: at.x + dx / at.scale, y: at.y + dy / at.scale});
  const zoom = (factor, x = width / 2, y = height / 2) => { // what is at x and y stays there
    const scale = within(at.scale * factor, least, LARGEST);
    const turn = 1 / at.scale - 1 / scale;
    look({scale, x: at.x + (x - width / 2) * turn, y: at.y + (y - height / 2) * turn});
  };
  const centre = ([x, y]) => look({...at, x, y});
  look(start);

  /** What stands out: chosen and path are keys of edges and numbers of states, found those that were looked for. */
  const mark = ({chosen = null, path = new Set(), found = null} = {}) => {
    const near = (from, to) => chosen?.kind === 'state' && (chosen.id === from || chosen.id === to);
    for (const [key, {from, to, shape, label}] of edges) {
      const out = path.has(key) || found?.has(key) || (chosen?.kind === 'edge' ? chosen.from === from && chosen.to === to : near(from, to));
      shape.classList.toggle('chosen', Boolean(out));
      label.style.fontWeight = out ? 'bold' : '';
      for (const part of [shape, label]) part.style.opacity = !out && (found || chosen || path.size) ? 0.25 : '';
      shape.setAttribute('marker-end', shape.getAttribute('marker-end').replace(/-chosen|(?=\))/, out ? '-chosen' : ''));
    }
    for (const [id, element] of states) {
      const out = path.has(id) || found?.has(id) || (chosen?.kind === 'state' && chosen.id === id);
      element.querySelector('.node').classList.toggle('chosen', Boolean(out));
      if (options.onpick) element.setAttribute('aria-pressed', String(chosen?.kind === 'state' && chosen.id === id));
    }
  };
  const show = (what) => {
    if (states.has(what)) centre(positions[what]);
    else if (edges.has(what)) centre(edges.get(what).route.slice(1));
  };
  const whole = () => {
    const copy = root.cloneNode(true);
    const box = extent(graph, positions);
    const size = Math.max(1, Math.min(1.6, width / box[2]));
    for (const [name, value] of [['viewBox', box.join(' ')], ['width', box[2] * size], ['height', box[3] * size]]) copy.setAttribute(name, value);
    return copy;
  };
  if (!options.onpick) return {root, mark, whole};
  const tip = html('div', {role: 'tooltip', style: `position: absolute; pointer-events: none; visibility: hidden; max-width: 22em; padding: 3px 8px;
    border: 1px solid var(--line); border-radius: 4px; background: var(--raised); color: var(--ink); font-size: 12px`});
  const button = (name, says, onclick) => html('button', {type: 'button', 'aria-label': name === 'Fit' ? null : says, title: says, onclick}, name);
  const frame = html('div', {style: 'position: relative; overflow: hidden; border: 1px solid var(--line); border-radius: 6px'}, root, tip);
  listen(root, {states, positions, move, zoom, fitted, width, smallest: () => at.scale <= least + 1e-9});
  explain(frame, tip, options.says);
  pick(root, options.onpick);
  const buttons = html('span', {class: 'controls', style: 'margin: 0; display: inline-flex'}, button('−', 'smaller', () => zoom(1 / 1.3)),
    button('+', 'larger', () => zoom(1.3)), button('Fit', 'all of it', fitted));
  return {root: frame, buttons, mark, show, whole, at: () => at, focused: () => document.activeElement?.closest?.('[data-state]')?.getAttribute('data-state'),
    focus: (id) => states.get(Number(id))?.focus({preventScroll: true})};
}

/** Left, top, width and height of a graph, with room for its labels. */
function extent(graph, positions) {
  const points = graph.states.map(({id}) => positions[id]);
  const drawn = graph.routes.map(([d]) => d.match(/-?[\d.]+/g).map(Number));
  const [[left, right], [top, bottom]] = [[0, 60], [1, 32]].map(([axis, room]) => {
    const values = [...points.map((point) => point[axis]), ...drawn.flatMap((numbers) => numbers.filter((_, i) => i % 2 === axis))];
    return [Math.min(...values) - room, Math.max(...values) + room];
  });
  return [left, top, right - left, bottom - top];
}

/** What is seen first: all of this graph, as large as texts can be read, and of what does not fit the left, around the start.
 * Later what was looked at before, unless states have left it, and then everything that there was at any step. */
function framed(graph, positions, before, width) {
  const seen = ([x, y]) => Math.abs(x - before.x) < width / before.scale / 2 && Math.abs(y - before.y) < before.height / before.scale / 2;
  if (before && graph.states.every(({id}) => seen(positions[id]))) return before;
  const [left, top, wide, high] = before ? graph.box : extent(graph, positions);
  const scale = Math.max(Math.min(1.6, width / wide, HIGHEST / high), LEGIBLE);
  const height = Math.round(Math.min(HIGHEST, Math.max(120, high * scale)));
  const [across, down] = [width / scale / 2, height / scale / 2];
  const middle = graph.start === null ? top + high / 2 : positions[graph.start][1];
  return {scale, height, x: left + Math.min(across, wide / 2), y: high <= 2 * down + 1 ? top + high / 2 : Math.max(top + down, Math.min(top + high - down, middle))};
}

const onlyIf = (condition, value) => (condition ? value : null);

export const numberOf = ({length}) => `${length} ${length === 1 ? 'state' : 'states'}`;

/** The elements: edges, their labels above them, states above both. */
function drawn(root, graph, positions, {edges: shown, fill, note, onpick, says}) {
  const name = `tip-${drawings++}`;
  const tip = (id, color) => svg('marker', {id, viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 9, markerHeight: 9, markerUnits: 'userSpaceOnUse',
    orient: 'auto'}, svg('path', {d: 'M0 0.5L8 4L0 7.5z', style: `fill: var(--${color})`}));
  root.append(svg('defs', {}, tip(name, 'faint'), tip(`${name}-chosen`, 'accent')));
  const end = `url(#${name})`;
  const [paths, labels] = [svg('g', {}), svg('g', {})];
  const edges = new Map(shown.map((edge) => {
    const {from, to, symbols, unsupported, route: [d, x, y]} = edge;
    const known = symbols.map(([, probability]) => probability).filter((probability) => probability !== null);
    const shape = svg('path', {d, class: `edge${symbols.every(([one]) => unsupported.includes(one)) ? ' unsupported' : ''}`, 'marker-end': end,
      'data-edge': keyOf(from, to), 'stroke-width': known.length ? 0.6 + 1.4 * Math.max(...known) : 1});
    const text = shortened(symbols, unsupported);
    const label = svg('text', {x, y: y + 4, 'text-anchor': 'middle', class: 'label', 'data-edge': keyOf(from, to)}, text);
    const wide = widthOf(text, LABEL);
    paths.append(shape);
    labels.append(svg('rect', {x: x - wide / 2 - 2, y: y - 8, width: wide + 4, height: 15, class: 'ground'}), label);
    return [keyOf(from, to), {...edge, shape, label}];
  }));
  root.append(paths);
  if (graph.start !== null) {
    const [x, y] = positions[graph.start];
    root.append(svg('path', {d: `M${x - RADIUS - 26} ${y}H${x - RADIUS}`, class: 'edge', 'marker-end': end}));
  }
  root.append(labels);
  const states = new Map(graph.states.map((state, i) => {
    const {id, accepting, output, inside = [[String(id), 0, 12]]} = state;
    const [colour, below] = [fill(state), note(state)];
    const transform = `translate(${positions[id].join(' ')})`;
    const text = (words, y, size, more = '') => svg('text', {y: y + size / 3, 'text-anchor': 'middle', style: `font-size: ${size}px${more}`}, words);
    const element = svg('g', {transform, 'data-state': id, tabindex: onlyIf(onpick, i ? -1 : 0),
      role: onlyIf(onpick, 'button'), 'aria-label': onlyIf(onpick, says({kind: 'state', id}))},
    svg('circle', {r: RADIUS, class: 'node'}),
    colour && output === undefined ? svg('circle', {r: RADIUS - 0.5, style: `fill: ${colour}; pointer-events: none`}) : null,
    accepting ? svg('circle', {r: RADIUS - 3.5, class: 'ring'}) : null,
    output === undefined ? null : svg('path', {d: `M${-RADIUS} 0A${RADIUS} ${RADIUS} 0 0 0 ${RADIUS} 0Z`, class: 'output', style: `fill: ${colour ?? 'none'}`}));
    root.append(element, svg('g', {transform, 'aria-hidden': 'true', style: 'pointer-events: none'}, ...inside.map(([line, y, size]) => text(line, y, size)),
    below ? text(below, RADIUS + 8, 10, '; paint-order: stroke; stroke: var(--paper); stroke-width: 3px') : null));
    return [id, element];
  }));
  return {states, edges};
}

/** At most four names, of at most 16 characters, and how many more; the probability of a symbol without a name; in
 * parentheses what no word takes. layout.py leaves room for it. */
function shortened(symbols, unsupported) {
  const short = ([name, probability]) => (name.length > 16 ? `${name.slice(0, 15)}…` : name) || `${Math.round(100 * probability)}%`;
  const names = symbols.map((symbol) => (unsupported.includes(symbol[0]) ? `(${short(symbol)})` : short(symbol)));
  return names.length <= 4 ? names.join(', ') : `${names.slice(0, 3).join(', ')} +${names.length - 3}`;
}

/** Wheel, pointer and keys. */
function listen(root, {states, positions, move, zoom, fitted, width, smallest}) {
  const factor = () => (root.getBoundingClientRect().width || width) / width;
  root.addEventListener('wheel', (event) => {
    if (event.deltaY > 0 && smallest()) return; // the page scrolls on
    event.preventDefault();
    const box = root.getBoundingClientRect();
    zoom(Math.exp(-Math.sign(event.deltaY) * 0.18), (event.clientX - box.left) / factor(), (event.clientY - box.top) / factor());
  });
  let from = null;
  let moved = false;
  root.addEventListener('pointerdown', (event) => {
    from = [event.clientX, event.clientY];
    moved = false;
  });
  root.addEventListener('pointermove', (event) => {
    if (!from || !event.buttons) return;
    const [dx, dy] = [event.clientX - from[0], event.clientY - from[1]];
    if (!moved && Math.hypot(dx, dy) < 4) return;
    if (!moved) root.setPointerCapture(event.pointerId);
    moved = true;
    move(-dx / factor(), -dy / factor());
    from = [event.clientX, event.clientY];
  });
  root.addEventListener('click', (event) => moved && event.stopImmediatePropagation());
  const ways = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};
  root.addEventListener('keydown', (event) => {
    const way = ways[event.key];
    const id = event.target.getAttribute('data-state');
    if (way && id !== null) focusNext(Number(id), way, states, positions);
    else if (way) move(60 * way[0], 60 * way[1]);
    else if (event.key === '+' || event.key === '=') zoom(1.3);
    else if (event.key === '-') zoom(1 / 1.3);
    else if (event.key === '0') fitted();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
}

/** Focuses the nearest state in a direction; of all states one can be reached by Tab. */
function focusNext(id, [dx, dy], states, positions) {
  const [x, y] = positions[id];
  const cost = (other) => {
    const [u, v] = [positions[other][0] - x, positions[other][1] - y];
    const ahead = u * dx + v * dy;
    return ahead > 0 ? ahead + 2 * Math.abs(u * dy + v * dx) : Infinity;
  };
  const next = [...states.keys()].reduce((best, other) => (cost(other) < cost(best) ? other : best));
  if (cost(next) === Infinity) return;
  for (const [other, element] of states) element.setAttribute('tabindex', other === next ? 0 : -1);
  states.get(next).focus();
}

/** Shows a text beside what the pointer or the focus is on. */
function explain(frame, tip, says) {
  const hide = () => { tip.style.visibility = 'hidden'; };
  const show = (event) => {
    const what = pointed(event.target);
    if (!what) return hide();
    const [place, around] = [event.target.getBoundingClientRect(), frame.getBoundingClientRect()];
    const [x, y] = event.type === 'focusin' ? [place.right, place.top] : [event.clientX + 12, event.clientY + 12];
    tip.textContent = says(what);
    tip.style.visibility = 'visible';
    tip.style.left = `${Math.max(0, Math.min(x - around.left, frame.clientWidth - tip.offsetWidth))}px`;
    tip.style.top = `${Math.max(0, Math.min(y - around.top, frame.clientHeight - tip.offsetHeight))}px`;
  };
  for (const name of ['pointerover', 'focusin']) frame.addEventListener(name, show);
  for (const name of ['pointerleave', 'focusout']) frame.addEventListener(name, hide);
}

function pick(root, onpick) {
  const choose = (event) => {
    const what = pointed(event.target);
    if (what) onpick(what);
    else if (event.type === 'click') onpick(null);
  };
  root.addEventListener('click', choose);
  root.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();
    choose(event);
  });
}

function pointed(element) {
  const state = element.closest('[data-state]');
  if (state) return {kind: 'state', id: Number(state.getAttribute('data-state'))};
  const edge = element.closest('[data-edge]');
  if (!edge) return null;
  const [from, to] = edge.getAttribute('data-edge').split(',').map(Number);
  return {kind: 'edge', from, to};
}
