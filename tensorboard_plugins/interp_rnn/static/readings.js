// How a network reads a text, by each method that was logged: one number a token for an output, and what the network says.

import {softmax} from './outputs.js';

/** A method is {id, name, entry, series, load(step, target)}; a reading, what it loads:
 * outputs, their names; value(i, o), of token i, counted from 0, for output o; tokens, how many have one; rest, [name, of(o)]
 * of what the tokens do not have; logits(o), the sum of all; sums, whether they do; about(up, down), what a bar is. */
const METHODS = {
  contributions: (page, entry, series) => [{
    id: 'contributions', name: 'Contributions', entry, series, earlier: true,
    load: async (step, target) => contributed(series, await page.part(entry, step, target), target),
  }],
  shapley_values: (page, entry, series) => [{
    id: 'shapley', name: 'Shapley values', entry, series,
    load: async (step) => {
      const {values} = await page.part(entry, step, 0);
      const K = series.outputs.length, T = series.symbols.length;
      return summed({outputs: series.outputs, tokens: T, value: (i, o) => values[i * K + o], rest: [['the mean over the background', (o) => values[T * K + o]]],
        about: (lead) => `Bars: what knowing each symbol changes in ${lead}, on average over what else is known.`});
    },
  }],
  attribution: (page, entry, series) => [{
    id: `attribution by ${series.method}`, name: series.method[0].toUpperCase() + series.method.slice(1).replaceAll('_', ' '), entry, series,
    load: async (step) => {
      const {shape: [rows, K], values} = await page.part(entry, step, 0);
      const says = values.subarray(K, 2 * K);
      const left = series.outputs.length - K;
      return {outputs: [...values.subarray(0, K)].map((number) => series.outputs[number]), tokens: rows - 3, value: (i, o) => values[(i + 2) * K + o],
        rest: [['an empty text', (o) => values[(rows - 1) * K + o]]], logits: (o) => (K === 1 && !left ? says[0] : Math.log(says[o])), sums: series.method !== 'occlusion',
        others: left ? {count: left, probability: Math.max(0, 1 - says.reduce((sum, part) => sum + part, 0))} : null,
        about: (lead) => `Bars: what each token added to ${lead}, or took from it.`};
    },
  }],
  substitutions: (page, entry, series) => ['deleted', 'replaced'].filter((id) => id === 'replaced' ? series.alternatives.length > 1 : series.deletions).map((id) => ({
    id, name: id === 'deleted' ? 'Deletion' : 'Replacement', entry, series,
    load: async (step) => {
      const answers = changed(series, await page.part(entry, step, 0));
      const lost = (i, o) => answers.original[o] - (id === 'deleted' ? answers.deleted(i)[o] : answers.mean(i)[o]);
      const reading = {outputs: series.outputs, tokens: series.symbols.length, value: lost, logits: (o) => answers.original[o]};
      return id === 'deleted' ? ofDeletions(reading) : {...reading, rest: [], sums: false,
        about: (lead) => `Bars: by how much ${lead} falls when another symbol is read in its place, on average over ${series.alternatives.length}.`};
    },
  })),
};
METHODS.top_contributions = METHODS.contributions;

const summed = (reading) => ({
  sums: true,
  logits: (o) => reading.rest.reduce((sum, [, of]) => sum + of(o), 0) + [...Array(reading.tokens).keys()].reduce((sum, i) => sum + reading.value(i, o), 0),
  ...reading,
});

/** A reading of terms: of tokens, value(i, o); of the initial state, start(o); bias(o). */
export const ofTerms = ({start, bias, ...reading}) => ({
  ...summed({...reading, rest: [['the initial state', start], ['the bias', bias]], about: (lead) => `Each bar is what a symbol adds to the logit of ${lead}, in nats.`}),
  without: true,
});

/** A reading of what an output loses, value(i, o), where a token is deleted. */
export const ofDeletions = (reading) => ({
  ...reading, rest: [], sums: false,
  about: (lead) => `Bars: by how much ${lead} falls when the symbol is deleted; the network has read every such text.`,
});

/** The terms of one target: outputs that have one each, and what the others have together, if not all do. */
function contributed({outputs, top}, {values}, target) {
  const few = top !== undefined;
  const K = few ? top + 2 : outputs.length;
  const names = few ? [...values.subarray(0, top)].map((number) => outputs[number]) : outputs;
  const at = (source, o) => values[(source + (few ? 1 : 0)) * K + o];
  return {
    ...ofTerms({outputs: names, tokens: target, value: (i, o) => at(i + 1, o), start: (o) => at(0, o), bias: (o) => at(target + 1, o)}),
    others: few ? {count: outputs.length - top, probability: values[top]} : null,
  };
}

/** What the network says of a text that is changed in one place, and of the text as it is. Where answers are computed when they
 * are asked for, `all` makes ready for all of them; it is null where they are too many. */
function changed({symbols, alternatives, outputs, deletions}, {values}) {
  const K = outputs.length;
  const row = (r) => [...values.subarray(r * K, (r + 1) * K)];
  const replaced = (i, a) => row(1 + i * alternatives.length + a);
  return {
    original: row(0), replaced,
    deleted: deletions ? (i) => row(1 + symbols.length * alternatives.length + i) : null,
    mean: (i) => {
      const others = alternatives.map((name, a) => [name, replaced(i, a)]).filter(([name]) => name !== symbols[i]).map(([, logits]) => logits);
      return outputs.map((_, o) => others.reduce((sum, logits) => sum + logits[o], 0) / others.length);
    },
  };
}

/** The texts of a run: [{key, symbols, methods, changes ({series, earlier, load(step, target)} of the answers to changes), traces: [{entry, series, row}]}]. */
export async function textsOf(page) {
  const all = await Promise.all(page.entries.map(async (entry) => [entry, await page.read(entry)]));
  const texts = new Map();
  const textOf = (symbols) => {
    const key = symbols.join(' ');
    if (!texts.has(key)) texts.set(key, {key, symbols, methods: [], traces: []});
    return texts.get(key);
  };
  const order = ['contributions', 'top_contributions', 'shapley_values', 'attribution', 'substitutions', 'trace'];
  all.sort(([a], [b]) => order.indexOf(a.kind) - order.indexOf(b.kind));
  for (const [entry, series] of all.filter(([, {steps}]) => steps.length)) {
    if (entry.kind === 'trace') {
      const [sequences, time] = series.shapes[0];
      const rows = series.tokens.length ? series.tokens : [...Array(sequences)].map(() => []);
      rows.forEach((tokens, row) => textOf(tokens.length ? tokens : [...Array(time).keys()].map((t) => String(t + 1))).traces.push({entry, series, row}));
    } else {
      const text = textOf(series.symbols);
      const methods = METHODS[entry.kind](page, entry, series);
      const twice = series.method === 'contributions' && text.methods.some(({id}) => id === 'contributions');
      text.methods.push(...(twice ? [] : methods));
      if (entry.kind === 'substitutions') text.changes = {series, load: async (step) => changed(series, await page.part(entry, step, 0))};
    }
  }
  return [...texts.values()];
}

/** The two outputs that are compared: the chosen ones, where there are such, or the two most probable; one if there is one.
 * @param {{outputs: string[], logits: function(number): number}} reading @param {{up?: string, down?: string}} chosen */
export function pairOf({outputs, logits}, {up, down}) {
  if (outputs.length === 1) return [0];
  const parts = softmax(outputs.map((_, o) => logits(o)));
  const order = [...parts.keys()].sort((a, b) => parts[b] - parts[a]);
  const first = outputs.includes(up) ? outputs.indexOf(up) : order.find((o) => outputs[o] !== down);
  const second = outputs.includes(down) && outputs.indexOf(down) !== first ? outputs.indexOf(down) : order.find((o) => o !== first);
  return [first, second];
}

/** How far a token moved the first output ahead of the second.
 * @param {{value: function(number, number): number}} reading @param {number[]} pair */
export const leadOf = ({value}, [first, second]) => (i) => value(i, first) - (second === undefined ? 0 : value(i, second));
