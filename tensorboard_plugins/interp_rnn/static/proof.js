// A network that is right on its test set, and an automaton that another network is proved to be: what both say of a word that is
// typed, lengthened, or searched for. The page has the weights of the first and the table of the second.

import {lines} from './charts.js';
import {blank} from './letters.js';
import {encoded} from './live.js';
import {networkOf} from './machine.js';
import {quoted} from './outputs.js';
import {unpacked} from './packed.js';
import {h, patch} from './render.js';
import {signedColumn} from './scales.js';
import {turns, walk} from './waterfall.js';

export const title = 'Test set against proof';
export const about = 'What is a test set worth, and what a proof?';

const LONGEST = 100; // symbols that the slider adds
const SHOWN = 60; // symbols whose steps are drawn
const ALL = 12; // length up to which every word is read
const [HEADS, LOOPS, TIMES, TAILS] = [5, 3, 30, 1]; // of words u v ... v w: the lengths of u, v and w, and how often v comes

export async function draw(body, page) {
  const {state, series} = page;
  const {network, proved, family: [begin, again]} = series;
  const arrays = await Promise.all(Object.entries(series.weights).map(async ([name, array]) => [name, await unpacked(array)]));
  if (!page.current()) return;
  const made = networkOf(series.machine, Object.fromEntries(arrays));
  const [above, below] = [0, 1].map(() => document.createElement('div'));
  body.replaceChildren(above, below);
  const first = (ids) => made.prefixes(ids).map(([output]) => output);
  const lengthened = first([...begin, ...Array(LONGEST).fill(again)]).slice(begin.length);
  const name = (ids) => (ids.length ? ids.map((id) => series.alphabet[id]).join(blank(series.typed.map((id) => series.alphabet[id]))) : 'the empty word');
  const answer = (value) => series.classes[Number(value > 0)];
  const look = (value) => (value > 0 ? 'for' : 'against'); // a colour for each answer
  const accepts = (ids) => proved.outputs[ids.reduce((at, id) => proved.transitions[at][id], proved.start)];
  let found = null; // words that fool the network, the shortest first

  /** What comes after the beginning of a word of the slider's; -1 for any other word. */
  function added(ids) {
    const rest = ids.slice(begin.length);
    return begin.every((id, i) => ids[i] === id) && rest.length <= LONGEST && rest.every((id) => id === again) ? rest.length : -1;
  }

  function choose(ids) {
    state.word = name(ids);
    page.remember();
    show();
  }

  function search() {
    found ??= fooling(made, proved, series.typed);
    const at = found.findIndex((ids) => name(ids) === state.word);
    if (found.length) choose(found[(at + 1) % found.length]);
    else show();
  }

  function show() {
    const {ids, strays} = encoded(state.word ?? '', series);
    const n = added(ids);
    const outputs = first(ids);
    const value = outputs[ids.length];
    const right = accepts(ids);
    const wrong = (value > 0) !== right;
    const number = signedColumn([value]);
    patch(above, h('h2', {class: 'headline', 'aria-live': 'polite'}, `Right on all ${series.tested.toLocaleString('en')} words of its test set, and on ${ids.length > SHOWN ? `a word of ${ids.length} symbols` : quoted(name(ids))} it answers `,
      h('b', {class: look(value)}, answer(value)), ', which is ', wrong ? h('b', {class: 'error'}, 'wrong') : 'right', '.'),
    h('p', {class: 'note'}, series.rule),
    h('label', {class: 'typed'}, 'Type a word', h('input', {type: 'text', value: state.word ?? '', spellcheck: 'false', autocapitalize: 'off', autocomplete: 'off', 'aria-describedby': 'strays', oninput: (event) => {
      state.word = event.target.value;
      page.remember();
      show();
    }})),
    h('p', {class: 'error', id: 'strays', role: 'status'}, strays.length ? `No symbol of the networks, and left out: ${strays.slice(0, 5).map(([stray]) => quoted(stray)).join(', ')}.` : ''),
    h('div', {class: 'controls'},
      h('label', {class: 'slider'}, `${name(begin)} and then so many times ${name([again])} `, h('input', {type: 'range', min: 0, max: LONGEST, value: String(Math.max(0, n)), 'aria-label': `how often ${name([again])} comes after ${name(begin)}`,
        oninput: (event) => choose([...begin, ...Array(Number(event.target.value)).fill(again)])}), h('output', {}, n < 0 ? '–' : String(n))),
      h('button', {type: 'button', onclick: search}, found?.length ? 'Find another word that fools it' : 'Find a word that fools it'),
      h('span', {class: 'note', role: 'status'}, found ? `${found.length.toLocaleString('en')} found: all words of at most ${ALL} symbols were tried, and longer ones that repeat a part.` : '')),
    h('div', {class: 'two'},
      h('section', {class: 'panel'}, h('h3', {}, network), h('p', {class: 'verdict'}, h('b', {class: look(value)}, answer(value)), wrong ? h('b', {class: 'error'}, ' ✗') : h('b', {class: 'good'}, ' ✓'), ` log-odds ${number(value)}`),
        h('p', {class: 'note'}, `${wrong ? 'Wrong' : 'Right'} here. ${series.test}`)),
      h('section', {class: 'panel'}, h('h3', {}, proved.name), h('p', {class: 'verdict'}, h('b', {class: look(right ? 1 : -1)}, answer(right ? 1 : -1)), h('b', {class: 'good'}, ' ✓')),
        h('p', {class: 'good'}, 'Right here, and proved to be right on every word of any length.'),
        h('details', {}, h('summary', {}, 'The proof, and what it assumes'), proved.said.map((line) => h('p', {}, line))))));
    patch(below,
      h('figure', {}, h('figcaption', {}, `${network[0].toUpperCase()}${network.slice(1)}, on ${name(begin)} and so many times ${name([again])}: above 0 it answers ${quoted(series.classes[1])}, which is wrong for each of these words`),
        lines([{name: 'log-odds', color: 'var(--ink)', width: 2, points: [...lengthened].map((one, i) => [i, one])}, {name: 'the line between both answers', color: 'var(--faint)', dashed: true, points: [[0, 0], [LONGEST, 0]]}], {
          x: `how often ${name([again])} comes`, y: 'log-odds', wholeX: true, width: Math.max(260, Math.min(page.width(), 900)), height: 220, label: `log-odds of the network over the length of the word`, at: Math.max(0, n), onpick: (step) => choose([...begin, ...Array(step).fill(again)])})),
      ids.length && ids.length <= SHOWN ? h('figure', {}, h('figcaption', {}, mind(outputs, ids)),
        walk(ids.map((id) => ({name: series.alphabet[id]})), [...outputs], 0, {width: Math.max(260, page.width()), sides: [series.classes[1], series.classes[0]], format: (step) => number(step), noun: 'symbol'})) : null,
      h('div', {}, page.downloads(() => [...below.querySelectorAll('figure svg')], () => [['word', network, proved.name], [name(ids), value, answer(right ? 1 : -1)]], {file: `test set against proof ${name(ids)}`})));
  }

  /** What the network says after each symbol, and where it went wrong. */
  function mind(outputs, ids) {
    const off = [...ids.keys()].filter((t) => (outputs[t + 1] > 0) !== accepts(ids.slice(0, t + 1)));
    const sides = turns([...outputs], 0).length;
    return `What the network would say after each symbol, in log-odds: it changes sides ${['never', 'once', 'twice'][sides] ?? `${sides} times`}${off.length ? `, and is wrong from symbol ${off[0] + 1} on${off.length < ids.length - off[0] ? ', though not after each' : ''}` : ''}`;
  }

  show();
}

/** Words of which a network says something else than an automaton does, the shortest first. */
export function fooling(made, {start, transitions, outputs}, typed) {
  const first = {ids: [], state: start};
  const found = new Map();
  const next = ({ids, state}, id) => ({ids: [...ids, id], state: transitions[state][id]});
  const spelled = (length) => (length ? spelled(length - 1).flatMap((one) => typed.map((id) => [...one, id])) : [[]]);
  const upTo = (length) => [...Array(length + 1).keys()].flatMap(spelled);
  const check = (rows, states) => {
    const values = made.says(states, rows[0].ids.length);
    rows.forEach((row, r) => (values[r * made.width] > 0) !== outputs[row.state] && found.set(row.ids.join(), row.ids));
  };
  /** All rows with one more symbol. */
  const read = (rows, states, id) => [rows.map((row) => next(row, id)), made.after(states, id)];

  const levels = [[[first], made.begin()]]; // all words of each length, with their states
  for (let length = 1; length <= ALL; length++) {
    const parts = typed.map((id) => read(...levels[length - 1], id));
    levels.push([parts.flatMap(([rows]) => rows), made.together(parts.map(([, states]) => states))]);
    check(...levels[length]);
  }
  for (const heads of levels.slice(0, HEADS + 1)) {
    for (const loop of upTo(LOOPS).slice(1)) {
      let at = heads;
      for (let n = 0; n < TIMES; n++) {
        at = loop.reduce((so, id) => read(...so, id), at);
        for (const tail of upTo(TAILS)) check(...tail.reduce((so, id) => read(...so, id), at));
      }
    }
  }
  return [...found.values()].sort((a, b) => a.length - b.length);
}
