// A network that reads what somebody types: a box for the text, above Reads. The page has its weights (live.js).

import {blank} from './letters.js';
import {encoded, network} from './live.js';
import {reader} from './machine.js';
import {quoted, says} from './outputs.js';
import {unpacked} from './packed.js';
import {ofDeletions, ofShares, ofTerms, pairOf} from './readings.js';
import {drawTexts} from './reads.js';
import {h, patch} from './render.js';
import {percent} from './scales.js';

export const title = 'Reads';
export const about = 'What in the text makes the network say this?';

const LISTED = 80; // symbols
const WORDS = 16; // of them, of a network of words
const OTHERS = 300; // symbols that can be read in the place of another
const CHANGES = 20000; // changed texts that are compared

export async function draw(body, page) {
  const {state} = page;
  const {alphabet, shown} = page.series;
  const series = {...page.series, symbols: alphabet.map((name, id) => shown[id] ?? name)};
  const arrays = await Promise.all(Object.entries(series.weights).map(async ([name, array]) => [name, await unpacked(array)]));
  if (!page.current()) return;
  const weights = Object.fromEntries(arrays);
  const all = series.machine ? reader(series.machine, weights) : network(weights);
  const {choices = []} = series; // [{name, first, outputs}], where the outputs are not one choice
  const choice = () => choices[state.index] ?? choices[0];
  const read = (ids) => (choices.length ? partOf(all(ids), choice()) : all(ids));
  const [above, below, end] = [0, 1, 2].map(() => document.createElement('div'));
  body.replaceChildren(above, below, end);
  const others = [...series.symbols.keys()].filter((id) => !series.machine?.masked.includes(id)).slice(0, OTHERS);
  const texts = []; // the one that is typed
  let ids = null; // of the text that was read last
  let again = null; // draws Reads

  /** Which of several answers is looked at. */
  const chooser = () => (choices.length ? h('label', {class: 'controls', key: 'choice'}, 'The answer about ', h('select', {value: String(choices.indexOf(choice())), onchange: (event) => {
    Object.assign(state, {index: Number(event.target.value), up: null, down: null});
    page.remember();
    show();
  }}, choices.map(({name}, i) => h('option', {key: name, value: String(i)}, name)))) : null);

  async function show() {
    const {ids: now, names, strays} = encoded(state.word ?? '', series);
    const changes = ids ? now.findIndex((id, t) => id !== ids[t]) : -1;
    if (changes >= 0 && state.picked >= changes) state.picked = null; // another symbol is there now
    if (state.picked >= now.length) state.picked = null;
    ids = now;
    texts[0] = textOf(ids, names);
    patch(above, box(strays), chooser());
    if (!ids.length) {
      again = null;
      const {logits} = read([]);
      const said = logits.every(Number.isFinite) ? `Before any symbol the network says: ${says(outputsOf(), [...logits], 1, choices.length > 0)}.` : 'The network reads the mean over the symbols, and there is none yet.';
      patch(below, h('p', {class: 'headline', 'aria-live': 'polite'}, said));
    } else if (again) await again();
    else again = await drawTexts(below, page, texts, {folded: true});
  }

  /** What can be typed. */
  function known() {
    const symbols = series.typed.map((id) => series.symbols[id]);
    const words = blank(symbols) !== '';
    const listed = words ? WORDS : LISTED;
    return h('details', {}, h('summary', {}, 'What it reads'),
      h('p', {class: 'note', id: 'symbols'}, `The network reads ${series.in_words ? 'words and signs, such as' : words ? 'words, with blanks between them:' : 'these symbols:'} ${symbols.slice(0, listed).join(' ')}${symbols.length > listed ? ` and ${symbols.length - listed} more` : ''}`));
  }

  /** The box, and what in it the network does not know. */
  function box(strays) {
    const unknown = strays.slice(0, 5).map(([name, at]) => `“${name}” (number ${at})`).join(', ');
    return [
      h('label', {class: 'typed', key: 'box'}, 'Type a text', h('textarea', {rows: 2, value: state.word ?? '', spellcheck: 'false', autocapitalize: 'off', autocomplete: 'off', 'aria-describedby': 'symbols strays',
        oninput: (event) => {
          Object.assign(state, {word: event.target.value, target: null});
          page.remember();
          show();
        }})),
      h('p', {class: 'error', key: 'strays', id: 'strays', role: 'status'}, unknown ? `${series.unknown === null ? 'No symbol of this network, and left out' : 'Not known to the network, and all read alike'}: ${unknown}${strays.length > 5 ? ` and ${strays.length - 5} more` : ''}.` : ''),
    ];
  }

  const outputsOf = () => (choice() ?? series).outputs;

  /** What outputs say, in a few words. */
  function answer(logits) {
    const {classes = []} = series.machine ?? {};
    const part = 1 / (1 + Math.exp(-logits[0]));
    return classes.length ? `${quoted(classes[Number(part >= 0.5)])} ${percent(Math.max(part, 1 - part), 0)}` : says(outputsOf(), [...logits], 1, choices.length > 0);
  }

  /** A text as Reads takes it (readings.js). What nobody looks at is not computed. */
  function textOf(ids, symbols) {
    const {outputs} = choice() ?? series;
    const values = choices.length > 0;
    const given = {steps: [0], slices: [false, true], symbols, outputs, values, alternatives: others.map((id) => series.symbols[id]), deletions: ids.length > 1 || !series.machine};
    const opened = (text) => {
      const logits = (o) => text.logits[o];
      pairOf({outputs, logits}, state).forEach((o) => text.carry(o));
      return {outputs, tokens: text.length, logits, values, ...(values ? {unit: ''} : {}), there: text.prefix ? (i) => answer(text.prefix(i + 1)) : null};
    };
    const few = given.alternatives.length * ids.length <= CHANGES;
    const known = new Map(); // number of symbols -> the beginning of the text, as it is read
    const until = (target) => known.get(target) ?? known.set(target, read(ids.slice(0, target))).get(target);
    const method = (id, name, call, reading) => ({id, name, call, ids, series: given, earlier: true, load: (_, target) => reading(until(target), opened(until(target)))});
    return {
      key: '', symbols, traces: [],
      changes: {series: given, earlier: true, load: (_, target) => {
        const {logits, deleted, replaced, carryAll} = until(target);
        return {original: logits, deleted: given.deletions ? deleted : null, replaced: (i, a) => replaced(i, others[a]), all: few ? carryAll : null};
      }},
      methods: series.machine ? [
        method('shapley', 'Shapley values', (x) => `analysis.attribution(model, ${x}, method="shapley")`, ({shares, asRead}, reading) => ofShares({...reading, value: shares.value, error: shares.exact ? null : shares.error, base: shares.base, asRead,
          activation: series.machine.activation, classes: series.machine.classes})),
        method('deleted', 'Deletion', (x) => `analysis.substitutions(model, ${x})`, ({logits, without}, reading) => ofDeletions({...reading, value: (i, o) => logits[o] - without(i, o)})),
      ] : [
        method('contributions', 'Contributions', (x) => `analysis.contributions(model, ${x})`, ({term, start, bias}, reading) => ofTerms({...reading, value: term, start, bias: (o) => bias[o]})),
        method('deleted', 'Deletion', (x) => `analysis.substitutions(model, ${x})`, ({logits, without}, reading) => ofDeletions({...reading, value: (i, o) => logits[o] - without(i, o)})),
      ],
    };
  }

  await show();
  patch(end, known(), series.said.length ? h('details', {}, h('summary', {}, 'About this network'), series.said.map((line) => h('p', {}, line))) : null);
}

/** What a network makes of a text, of some of its outputs alone. */
function partOf(text, {first, outputs}) {
  const part = (numbers) => numbers.slice(first, first + outputs.length);
  return {
    length: text.length, logits: part(text.logits), bias: part(text.bias), prefix: (n) => part(text.prefix(n)),
    carry: (o) => text.carry(first + o), carryAll: () => outputs.forEach((_, o) => text.carry(first + o)),
    start: (o) => text.start(first + o), term: (i, o) => text.term(i, first + o), without: (i, o) => text.without(i, first + o),
    deleted: (i) => part(text.deleted(i)), replaced: (i, x) => part(text.replaced(i, x)),
  };
}
