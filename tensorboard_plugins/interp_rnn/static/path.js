// The path of a text through an automaton: the text, and below each token the state that it leads to.

import {html, share, shown, signed} from './charts.js';
import {placeOf} from './outputs.js';
import {percent} from './scales.js';

const BLANK = '\u00a0';

/** Of a word by the edges of an automaton: tokens, states (one more, the start first; null from where there is no way on). */
export function walked(graph, word) {
  const next = new Map(graph.edges.flatMap(({from, to, symbols}) => symbols.map(([name]) => [`${from} ${name}`, to])));
  const tokens = split(graph, word);
  const states = [graph.start];
  for (const token of tokens) states.push(next.get(`${states[states.length - 1]} ${token}`) ?? null);
  return {tokens, states};
}

/** When a text moved to the state in which it ends: the last move, in words; "" where it never moved or its states are not known.
 * name(id): of a state. */
export function lastMove({tokens, states}, name) {
  const known = states.slice(1);
  const end = known[known.length - 1];
  const at = known.findLastIndex((state) => state !== end) + 1;
  if (end === undefined || end === null) return '';
  const where = `centroid ${name(end)}`;
  if (!at) return `It was at ${where} from the first token on`;
  const place = placeOf(tokens, at, 'token');
  return at === known.length - 1 ? `It moved to ${where} at its last token, ${place}` : `It moved to ${where} at ${place}, and stayed there`;
}

/** The symbols of a word that somebody typed: letters, if all symbols are single ones, else what stands between blanks. */
function split(graph, word) {
  const letters = graph.edges.every(({symbols}) => symbols.every(([name]) => [...name].length === 1));
  return letters ? [...word.trim()].map((letter) => (letter === ' ' ? '␣' : letter)) : word.split(/\s+/).filter(Boolean);
}

/** Of a logged sequence by its probabilities (time, k): the tokens that were read, `places`, their steps, from 0, their most
 * probable states, and `alpha`, of each the probability of each state. */
export function logged(slice, tokens) {
  const [time, k] = slice.shape;
  const rows = [...Array(time).keys()].map((t) => slice.values.subarray(t * k, (t + 1) * k));
  const read = [...rows.keys()].filter((t) => !Number.isNaN(rows[t][0]));
  const alpha = read.map((t) => rows[t]);
  return {tokens: read.map((t) => tokens?.[t] ?? String(t + 1)), places: read, states: [null, ...alpha.map((row) => row.indexOf(Math.max(...row)))], alpha};
}

/** The class of every centroid, and the predicted class of a sequence, from the outputs of all centroids and sequences. */
export function classes(outputs, k, sequence, threshold) {
  const width = outputs.shape[1];
  const of = (row) => {
    const values = outputs.values.subarray(row * width, (row + 1) * width);
    return width === 1 ? Number(values[0] > threshold) : values.indexOf(Math.max(...values));
  };
  return {of: [...Array(k).keys()].map(of), predicted: of(k + sequence)};
}

/** How far a token supports the predicted class: the probability of states of that class, minus that of all others. */
const support = (row, {of, predicted}) => of.reduce((sum, kind, i) => sum + (kind === predicted ? 1 : -1) * row[i], 0);

const SHADE = 0.35; // of a colour behind a token, which stays legible
const USED = 0.1; // probability that a state reaches whose row is shown

/** Columns, one a token: the token, a cell for each state that is used, shaded by its probability, and the name of the state.
 * `shade` shades the tokens by the probability of a state; else, null, by their support, where classes are known, or by their
 * own state's; and marks a position, from 1, or none. name and short, of a state; onpick(position) at a click. */
export function columns({tokens, states, places = null, alpha = null}, {name, short, kinds, onpick}) {
  const reaches = (least) => (alpha?.length ? [...alpha[0].keys()].filter((i) => alpha.some((row) => row[i] >= least)) : []);
  const rows = reaches(USED).length > 1 ? reaches(USED) : [];
  const folded = rows.length ? (alpha[0]?.length ?? 0) - rows.length : 0;
  const cell = (style, words = '') => html('span', {style: `display: block; ${style}`}, words);
  const column = 'display: inline-block; vertical-align: bottom; margin: 0 0 8px; padding: 0; border: 0; background: none; text-align: center; font: inherit; color: inherit';
  const head = html('span', {style: `${column}; text-align: right; padding-right: 8px; color: var(--faint)`},
    cell('padding: 1px 0', rows.length ? 'state' : BLANK), ...rows.map((i) => cell('height: 14px; line-height: 14px; font-size: 12px', name(i))),
    cell('', states[0] === null ? BLANK : name(states[0])));
  const buttons = tokens.map((token, t) => {
    const [row, state] = [alpha?.[t], states[t + 1]];
    const says = `${(places?.[t] ?? t) + 1}: after “${token}”, ${state === null ? 'no state: no edge has it' : `state ${name(state)}`}${row ? ` (${shown(row[state])})` : ''}${row && kinds ? `, support of class ${kinds.predicted} ${shown(support(row, kinds))}` : ''}`;
    return html('button', {type: 'button', style: `${column}; cursor: pointer; min-width: 16px`, title: says, onclick: () => onpick(t + 1)},
      cell('padding: 1px 4px; outline-offset: -2px', token),
      ...rows.map((i) => cell(`height: 13px; margin: 0 0 1px; background: ${share(row[i])}; outline: 0.5px solid var(--line)`)),
      cell('padding: 0 3px; color: var(--faint)', state === null ? '–' : short(state)));
  });
  const shade = (by, marked) => buttons.forEach((button, t) => {
    const row = alpha?.[t];
    const look = button.firstChild.style;
    if (row) look.background = by !== null ? share(SHADE * row[by]) : kinds ? signed(SHADE * support(row, kinds), 1) : share(SHADE * row[states[t + 1]]);
    look.outline = marked === t + 1 ? '2px solid var(--accent)' : '';
    button.setAttribute('aria-pressed', String(marked === t + 1));
  });
  return {shade, root: html('div', {role: 'group', 'aria-label': 'the text and its states', style: 'margin: 8px 0; padding: 3px'}, head, ...buttons,
    folded ? html('p', {class: 'note'}, `${folded} other${folded === 1 ? '' : 's'} never reach${folded === 1 ? 'es' : ''} ${percent(USED, 0)}.`) : '')};
}
