// How a network reads a text, by each method that was logged: one number a token for an output, and what the network says.

import {softmax} from './outputs.js';
import {ROUNDING} from './scales.js';

/** A method is {id, name, entry, series, load(step, target), call(x), the call in Python that computes it, and perhaps ids, what was
 * read}; a reading, what it loads:
 * kind, what the numbers are (KINDS of outputs.js), of which noun, in which unit, '' for the output's own; outputs, their names;
 * value(i, o), of token i, counted from 0, for output o; tokens, how many have one; feature(i, f, o), if there are `features`;
 * of(i), of pairs the reading of those of another token than `picked`, and at(i, j), the number of a pair;
 * rest, [name, of(o)] of what the tokens do not have; logits(o), the sum of all; values, whether several outputs share no
 * probability; verdict, whether they are a finite automaton's.
 * An attribution also has its method and the reason for it; quantity, what is split of an output: its logit, log-odds, probability, or
 * '' for itself; outcome(o), that of an output; probability(o), where it is known; error(i, o), half the width of the 95 %
 * interval of a value, if values are estimates; odds, whether each output has a probability of its own; classes, the names of both
 * between which a single output decides; asRead(t, o), an output with the first t tokens there and no other; scale, the largest bar of all texts that were explained together; label, the true class, and
 * wrong, whether the network says another, where it is known. there(i), if known: what the network says of the text until token i. */
const METHODS = {
  contributions: (page, entry, series) => [{
    id: 'contributions', name: 'Contributions', entry, series, earlier: true, call: (x) => `analysis.contributions(model, ${x})`,
    load: async (step, target) => contributed(series, await page.part(entry, step, target), target),
  }],
  shapley_values: (page, entry, series) => [{
    id: 'shapley', name: 'Shapley values', entry, series, call: (x) => `analysis.shapley_values(model, ${x})`,
    load: async (step) => {
      const {values} = await page.part(entry, step, 0);
      const K = series.outputs.length, T = series.symbols.length;
      return summed({kind: 'shapley', outputs: series.outputs, tokens: T, value: (i, o) => values[i * K + o], rest: [['the mean over the background', (o) => values[T * K + o]]],
        verdict: series.verdict, unit: series.verdict ? '' : unitOf(series.outputs)});
    },
  }],
  attribution: (page, entry, series) => [{
    id: `attribution by ${series.method}`, name: series.method === 'shapley' ? 'Shapley attribution' : series.method[0].toUpperCase() + series.method.slice(1).replaceAll('_', ' '), entry, series, call: (x) => `analysis.attribution(model, ${x}, method="${series.method}")`,
    load: async (step) => attributed(series, await page.part(entry, step, 0)),
  }],
  interactions: (page, entry, series) => [{
    id: 'interactions', name: 'Pairs', entry, series, call: (x) => `analysis.interactions(model, ${x})`,
    load: async (step) => inPairs(series, (await page.part(entry, step, 0)).values),
  }],
  substitutions: (page, entry, series) => ['deleted', 'replaced'].filter((id) => id === 'replaced' ? series.alternatives.length > 1 : series.deletions).map((id) => ({
    id, name: id === 'deleted' ? 'Deletion' : 'Replacement', entry, series, call: (x) => `analysis.substitutions(model, ${x})`,
    load: async (step) => {
      const answers = changed(series, await page.part(entry, step, 0));
      const lost = (i, o) => answers.original[o] - (id === 'deleted' ? answers.deleted(i)[o] : answers.mean(i)[o]);
      const reading = {outputs: series.outputs, tokens: series.symbols.length, masked: series.masked, fixed: series.fixed, values: series.values, value: lost, logits: (o) => answers.original[o]};
      return id === 'deleted' ? ofDeletions(reading) : {...ofDeletions(reading), kind: 'replaced', alternatives: series.alternatives.length};
    },
  })),
};
METHODS.top_contributions = METHODS.contributions;

/** What follows a number of a unit of an attribution; older logs have "nats" for logits. */
const suffixOf = (unit) => (['nats', 'logit', 'log-odds'].includes(unit) ? 'nats' : '');

const INTERVAL = 1.96; // standard errors on each side of an estimate, of its 95 % interval

/** The shares of the tokens of a text, or of groups of them, as kinds/attribution.py documents them. */
function attributed(series, {shape: [, K], values: numbers}) {
  const {symbols: {length: T}, method, reason, unit = '', features = 0, errors, values, vectors, groups, classes, scale, label, wrong} = series;
  const row = (r) => (o) => numbers[r * K + o];
  const uncertain = T + 3 + T * features;
  const reading = uncertain + (errors ? T : 0) + (series.both ? 1 : 0);
  const other = series.both ? row(uncertain + (errors ? T : 0)) : null;
  const names = [...numbers.subarray(0, K)].map((number) => series.outputs[number]);
  const left = series.outputs.length - K;
  const single = series.outputs.length === 1;
  const noun = groups ? 'group' : vectors ? 'step' : 'token';
  const before = unit === 'nats'; // of logits, as older logs say, which have probabilities alone
  const said = row(1);
  const outcome = values ? said : other ?? (before ? (o) => Math.log(said(o)) : said);
  const odds = unit === 'log-odds';
  const both = K === 1 && odds ? classes : undefined;
  const answer = both ? both[Number(outcome(0) >= 0)] : names[[...names.keys()].reduce((best, o) => (outcome(o) > outcome(best) ? o : best), 0)];
  return {
    kind: method === 'shapley' ? 'average' : method === 'occlusion' ? 'taken' : 'share', method, reason, noun, outputs: names, tokens: T, value: (i, o) => numbers[(i + 2) * K + o],
    quantity: before ? '' : unit, unit: suffixOf(unit),
    error: errors && numbers.subarray(uncertain * K, (uncertain + T) * K).some((one) => one > 0) ? (i, o) => INTERVAL * numbers[(uncertain + i) * K + o] : null,
    features, featureNames: series.feature_names, feature: (i, f, o) => numbers[(T + 3 + i * features + f) * K + o], leftOut: series.features_left_out, masked: series.masked,
    rest: [[`the output without any ${noun}`, row(T + 2)]], outcome, odds, scale, label, wrong: wrong ?? (label !== undefined && answer !== label), classes: both,
    probability: unit === 'probability' ? outcome : values ? other : single && !odds ? null : said,
    logits: values || single || odds ? outcome : (o) => Math.log(said(o)),
    asRead: series.as_read ? (t, o) => numbers[(reading + t) * K + o] : null,
    values: values && K > 1, others: left ? {count: left, probability: odds || values ? null : Math.max(0, 1 - numbers.subarray(K, 2 * K).reduce((sum, part) => sum + part, 0))} : null,
  };
}

/** The unit of the outputs: logits, if there are several. */
const unitOf = (outputs) => (outputs.length > 1 ? 'nats' : '');

const summed = (reading) => ({
  noun: 'symbol',
  logits: (o) => {
    const terms = [...reading.rest.map(([, of]) => of(o)), ...[...Array(reading.tokens).keys()].map((i) => reading.value(i, o))];
    const [sum, size] = [terms.reduce((all, term) => all + term, 0), terms.reduce((all, term) => all + Math.abs(term), 0)];
    return Math.abs(sum) < ROUNDING * size ? 0 : sum;
  },
  ...reading,
});

/** A reading of terms: of tokens, value(i, o); of the initial state, start(o); bias(o). */
export const ofTerms = ({start, bias, ...reading}) => ({
  ...summed({kind: 'term', unit: unitOf(reading.outputs), ...reading, rest: [['the initial state', start], ['the bias', bias]]}),
  without: true,
});

/** A reading of Shapley values of a network's outputs before `activation`; logits(o) are these outputs. base(o): of no symbol. */
export function ofShares({base, activation, classes, ...reading}) {
  const {outputs, logits} = reading;
  const quantity = {softmax: 'logit', sigmoid: 'log-odds'}[activation] ?? (classes.length ? 'log-odds' : '');
  const odds = quantity === 'log-odds';
  return {
    kind: 'average', noun: 'symbol', ...reading, quantity, unit: quantity || outputs.length > 1 ? 'nats' : '', odds, classes: odds && classes.length ? classes : undefined,
    rest: [['the output without any symbol', base]], outcome: logits,
    probability: odds ? (o) => 1 / (1 + Math.exp(-logits(o))) : quantity ? (o) => softmax(outputs.map((_, other) => logits(other)))[o] : null,
  };
}

/** A reading of what an output loses, value(i, o), where a token is deleted. */
export const ofDeletions = (reading) => ({
  kind: 'deleted', noun: 'symbol', unit: reading.values ? '' : unitOf(reading.outputs), rest: [], ...reading,
});

/** What a token changes together with each other one: at first a token of the strongest pair. */
function inPairs({symbols: {length: T}, output, says, unit = '', index, vectors, groups, masked, r_squared: explained}, values) {
  const at = (i, j) => values[i * T + j];
  const part = {probability: says, 'log-odds': 1 / (1 + Math.exp(-says))}[unit];
  const probability = part === undefined ? null : () => part;
  const of = (picked) => ({
    kind: 'pair', noun: groups ? 'group' : vectors ? 'step' : 'token', quantity: unit, unit: suffixOf(unit), outputs: [output], outcome: () => says, probability, tokens: T, value: (i) => at(picked, i), rest: [], logits: () => says,
    masked, index, explained, picked, at, of,
  });
  return of(Math.floor(values.reduce((best, value, pair) => (Math.abs(value) > Math.abs(values[best]) ? pair : best), 0) / T));
}

/** The terms of one target: outputs that have one each, and what the others have together, if not all do. */
function contributed({outputs, top, vectors, values: quantities = false}, {values}, target) {
  const few = top !== undefined;
  const K = few ? top + 2 : outputs.length;
  const names = few ? [...values.subarray(0, top)].map((number) => outputs[number]) : outputs;
  const at = (source, o) => values[(source + (few ? 1 : 0)) * K + o];
  return {
    ...ofTerms({outputs: names, unit: quantities ? '' : unitOf(outputs), values: quantities, noun: vectors ? 'step' : 'symbol', tokens: target, value: (i, o) => at(i + 1, o), start: (o) => at(0, o), bias: (o) => at(target + 1, o)}),
    others: few ? {count: outputs.length - top, probability: quantities ? null : values[top]} : null,
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

/** The texts of a run: [{key, name (of a sequence that has one), vectors (whether its symbols are the numbers of steps), symbols, methods, changes ({series, earlier, load(step, target)} of the answers to changes), traces: [{entry, series, row}]}]. */
export async function textsOf(page) {
  const all = await Promise.all(page.entries.map(async (entry) => [entry, await page.read(entry)]));
  const texts = new Map();
  const textOf = (symbols, name = '', vectors = false) => {
    const key = vectors && name ? `${name} of ${symbols.length}` : [name, ...symbols].filter(Boolean).join(' ');
    if (!texts.has(key)) texts.set(key, {key, name, vectors, symbols, methods: [], traces: []});
    return texts.get(key);
  };
  const order = ['contributions', 'top_contributions', 'shapley_values', 'attribution', 'interactions', 'substitutions', 'trace'];
  all.sort(([a], [b]) => order.indexOf(a.kind) - order.indexOf(b.kind));
  for (const [entry, series] of all.filter(([, {steps}]) => steps.length)) {
    if (entry.kind === 'trace') {
      const rows = series.tokens.length ? series.tokens : [...Array(series.shapes[0][0])].map(() => []);
      const unnamed = rows.some((tokens) => !tokens.length);
      const [time] = unnamed ? (await page.part(entry, series.steps[series.steps.length - 1], 0)).shape : [0];  // of every sequence
      const steps = [...Array(time).keys()].map((t) => String(t + 1));
      for (const [row, tokens] of rows.entries()) {
        const text = tokens.length && !series.vectors ? textOf(tokens) : textOf(tokens.length ? tokens : steps, `sequence ${row + 1}`, true);
        text.traces.push({entry, series, row});
      }
    } else {
      const text = textOf(series.symbols, series.title, series.vectors);
      const twice = series.method === 'contributions' && text.methods.some(({id}) => id === 'contributions');
      text.methods.push(...(twice ? [] : METHODS[entry.kind](page, entry, series)));
      if (entry.kind === 'substitutions') text.changes = {series, load: async (step) => changed(series, await page.part(entry, step, 0))};
    }
  }
  return [...texts.values()];
}

/** The two outputs that are compared: the chosen ones, where there are such, or the two largest; one if there is one.
 * @param {{outputs: string[], logits: function(number): number}} reading @param {{up?: string, down?: string}} chosen */
export function pairOf({outputs, logits}, {up, down}) {
  if (outputs.length === 1) return [0];
  const order = [...outputs.keys()].sort((a, b) => logits(b) - logits(a));
  const first = outputs.includes(up) ? outputs.indexOf(up) : order.find((o) => outputs[o] !== down);
  const second = outputs.includes(down) && outputs.indexOf(down) !== first ? outputs.indexOf(down) : order.find((o) => o !== first);
  return [first, second];
}

/** How far a token moved the first output ahead of the second.
 * @param {{value: function(number, number): number}} reading @param {number[]} pair */
export const leadOf = ({value}, [first, second]) => (i) => value(i, first) - (second === undefined ? 0 : value(i, second));
