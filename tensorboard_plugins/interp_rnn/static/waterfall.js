// The verdict while a text is read: each token moves it from where the one before left it.

import {SANS, widthOf} from './bars.js';
import {shortened, spoken} from './letters.js';
import {h} from './render.js';
import {rangeOf, shown} from './scales.js';

const FONT = `13px ${SANS}`;
const MOST = 80; // tokens with names; of more, the line alone
const LABELS = 7;
const FIRST = 3; // of them, which may lie on a bar
const TALL = 13; // of a label
const MATTERS = 0.06; // of the largest step
const HIGH = 150;
const MARGIN = 18; // above and below
const SIDE = 12; // of the names of both sides, to the drawing
const END = 56; // of the last value
const CUT = 16; // letters of a name that is turned
const ROOMY = 16; // width of a step, below which only steps with a number have names

/** A drawing, a description.
 * tokens: [{name, off}]; at: values[t], after the first t tokens; line: the value that divides both sides, null for none;
 * options: width, sides (the names above and below the line), format (of a step), noun. */
export function walk(tokens, at, line, {width, sides, format, noun}) {
  const left = sides.length ? Math.max(...sides.map((name) => widthOf(name, FONT))) + 2 * SIDE : SIDE;
  const across = Math.max(width, 260);
  const wide = Math.min(64, (across - left - END) / (tokens.length + 1));
  const named = tokens.length <= MOST;
  const turned = named && tokens.some(({name}) => widthOf(name, FONT) > wide - 2);
  const [low, high] = rangeOf(line === null ? at : [...at, line]);
  const y = (value) => MARGIN + ((high - value) / (high - low)) * HIGH;
  const x = (t) => left + (t + 0.5) * wide; // of the left edge of a token's bar
  const bottom = HIGH + 2 * MARGIN;
  const end = x(tokens.length);
  const below = !named ? 4 : turned ? 12 + 0.77 * Math.max(...tokens.map(({name}) => widthOf(short(name), FONT))) : 22;
  const bar = (t) => ({from: x(t), to: x(t) + wide, top: Math.min(y(at[t]), y(at[t + 1])), bottom: Math.max(y(at[t]), y(at[t + 1]))});
  const labels = labelled(tokens, at, (t) => [x(t) + wide / 2, at[t + 1] >= at[t] ? y(at[t + 1]) - 5 : y(at[t + 1]) + 14], bar, format);
  const has = (t) => named && (wide >= ROOMY || labels.has(t)); // a name

  const zero = line === null ? null : y(line);
  return h('svg', {viewBox: `0 0 ${Math.ceil(across)} ${Math.ceil(bottom + below)}`, width: Math.ceil(across), height: Math.ceil(bottom + below), class: 'walk', role: 'img',
    'aria-label': `from ${shown(at[0])} to ${shown(at[at.length - 1])} over ${tokens.length} ${noun}s`},
  zero === null ? null : [
    h('rect', {key: 'above', x: left, y: 0, width: end + 8 - left, height: Math.max(0, zero), class: 'side for'}),
    h('rect', {key: 'below', x: left, y: zero, width: end + 8 - left, height: Math.max(0, bottom - zero), class: 'side against'}),
    h('path', {key: 'line', d: `M${left} ${zero.toFixed(1)}H${(end + 8).toFixed(1)}`, class: 'grid'}),
    sides.map((name, side) => h('text', {key: `side ${side}`, x: left - SIDE, y: side ? Math.min(bottom - 4, zero + 18) : Math.max(12, zero - 8), 'text-anchor': 'end', class: `${side ? 'against' : 'for'} output`, style: `font: ${FONT}`}, name)),
  ],
  h('path', {key: 'steps', class: 'thread', d: at.map((value, t) => `M${(t ? x(t - 1) + 1 : left).toFixed(1)} ${y(value).toFixed(1)}H${(t < tokens.length ? x(t) + 1 : end).toFixed(1)}`).join('')}),
  tokens.map(({name, off}, t) => {
    const [from, to] = [y(at[t]), y(at[t + 1])];
    const says = `${spoken(name)}: ${off ? 'not read' : `${format(at[t + 1] - at[t])}, to ${shown(at[t + 1])}`}`;
    const middle = x(t) + wide / 2;
    return h('g', {key: t, class: `step${off ? ' off' : ''}`, 'data-step': t, 'data-tip': says},
      h('rect', {x: x(t), y: 0, width: wide, height: bottom + below, class: 'hit'}),
      h('rect', {x: x(t) + Math.min(4, wide / 6), width: Math.max(1, wide - 2 * Math.min(4, wide / 6)), y: Math.min(from, to), height: Math.max(0.75, Math.abs(to - from)), rx: 1, class: at[t + 1] >= at[t] ? 'for' : 'against'}),
      has(t) ? h('text', {key: 'name', class: 'name', style: `font: ${FONT}`, ...(turned ? {transform: `translate(${(middle + 4).toFixed(1)} ${bottom + 12}) rotate(-50)`, 'text-anchor': 'end'} : {x: middle, y: bottom + 14, 'text-anchor': 'middle'})}, turned ? short(name) : name) : null,
      labels.has(t) ? h('text', {key: 'value', x: labels.get(t)[0], y: labels.get(t)[1], 'text-anchor': 'middle', class: `value ${at[t + 1] >= at[t] ? 'for' : 'against'}`}, format(at[t + 1] - at[t])) : null);
  }),
  h('circle', {key: 'end', cx: end + 4, cy: y(at[at.length - 1]), r: 4, class: line === null ? 'other' : at[at.length - 1] >= line ? 'for' : 'against'}),
  h('text', {key: 'said', x: end + 12, y: y(at[at.length - 1]) + 4, class: 'output'}, shown(at[at.length - 1])));
}

const short = (name) => shortened(name, CUT);

/** The tokens whose steps have a number, and its place: the largest, none upon another or upon a bar. */
function labelled(tokens, at, placeOf, bar, format) {
  const size = (t) => Math.abs(at[t + 1] - at[t]);
  const chosen = new Map();
  const least = MATTERS * Math.max(...tokens.map((_, t) => size(t)));
  for (const t of [...tokens.keys()].filter((t) => size(t) > least && /[1-9]/.test(format(at[t + 1] - at[t]))).sort((a, b) => size(b) - size(a))) {
    if (chosen.size >= LABELS) break;
    const room = 7.2 * format(at[t + 1] - at[t]).length;
    const [x, y] = placeOf(t);
    const meets = ({from, to, top, bottom}) => from < x + room / 2 - 2 && to > x - room / 2 + 2 && top < y && bottom > y - TALL + 3;
    const free = [...chosen.values()].every(([left, above]) => Math.abs(left - x) >= room || Math.abs(above - y) >= TALL);
    if (free && (chosen.size < FIRST || ![...tokens.keys()].some((other) => other !== t && meets(bar(other))))) chosen.set(t, [x, y]);
  }
  return chosen;
}

/** The tokens at which the verdict changed sides, from the first on. */
export const turns = (at, line) => at.slice(1).map((value, t) => ((value >= line) !== (at[t] >= line) ? t : -1)).filter((t) => t >= 0);
