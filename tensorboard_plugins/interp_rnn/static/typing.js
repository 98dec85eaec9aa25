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
const CHOICES = 300; // symbols that can be read in the place of another
const CHANGES = 20000; // changed texts that are compared

export async function draw(body, page) {
  const {state} = page;
  const {alphabet, shown} = page.series;
  const series = {...page.series, symbols: alphabet.map((name, id) => shown[id] ?? name)};
  const arrays = await Promise.all(Object.entries(series.weights).map(async ([name, array]) => [name, await unpacked(array)]));
  if (!page.current()) return;
  const weights = Object.fromEntries(arrays);
  const read = series.machine ? reader(series.machine, weights) : network(weights);
  const [above, below, end] = [0, 1, 2].map(() => document.createElement('div'));
  body.replaceChildren(above, below, end);
  const choices = [...series.symbols.keys()].filter((id) => !series.machine?.masked.includes(id)).slice(0, CHOICES);
  const texts = []; // the one that is typed
  let ids = null; // of the text that was read last
  let again = null; // draws Reads

  async function show() {
    const {ids: now, names, strays} = encoded(state.word ?? '', series);
    const changes = ids ? now.findIndex((id, t) => id !== ids[t]) : -1;
    if (changes >= 0 && state.picked >= changes) state.picked = null; // another symbol is there now
    if (state.picked >= now.length) state.picked = null;
    ids = now;
    texts[0] = textOf(ids, names);
    patch(above, box(strays));
    if (!ids.length) {
      again = null;
      const {logits} = read([]);
      const said = logits.every(Number.isFinite) ? `Before any symbol the network says: ${says(series.outputs, [...logits])}.` : 'The network reads the mean over the symbols, and there is none yet.';
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

  /** What outputs say, in a few words. */
  function answer(logits) {
    const {classes = []} = series.machine ?? {};
    const part = 1 / (1 + Math.exp(-logits[0]));
    return classes.length ? `${quoted(classes[Number(part >= 0.5)])} ${percent(Math.max(part, 1 - part), 0)}` : says(series.outputs, [...logits]);
  }

  /** A text as Reads takes it (readings.js). What nobody looks at is not computed. */
  function textOf(ids, symbols) {
    const {outputs} = series;
    const given = {steps: [0], slices: [false, true], symbols, outputs, alternatives: choices.map((id) => series.symbols[id]), deletions: ids.length > 1 || !series.machine};
    const opened = (text) => {
      const logits = (o) => text.logits[o];
      pairOf({outputs, logits}, state).forEach((o) => text.carry(o));
      return {outputs, tokens: text.length, logits, there: text.prefix ? (i) => answer(text.prefix(i + 1)) : null};
    };
    const few = given.alternatives.length * ids.length <= CHANGES;
    const known = new Map(); // number of symbols -> the beginning of the text, as it is read
    const until = (target) => known.get(target) ?? known.set(target, read(ids.slice(0, target))).get(target);
    const method = (id, name, call, reading) => ({id, name, call, ids, series: given, earlier: true, load: (_, target) => reading(until(target), opened(until(target)))});
    return {
      key: '', symbols, traces: [],
      changes: {series: given, earlier: true, load: (_, target) => {
        const {logits, deleted, replaced, carryAll} = until(target);
        return {original: logits, deleted: given.deletions ? deleted : null, replaced: (i, a) => replaced(i, choices[a]), all: few ? carryAll : null};
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
