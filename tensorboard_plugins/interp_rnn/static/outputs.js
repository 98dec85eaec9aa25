// What a network says: probabilities of its outputs, and the sentence about a reading.

import {h} from './render.js';
import {column, percent, ROUNDING, shown, signedColumn} from './scales.js';
import {brief} from './bars.js';
import {blank, isolated, isSpace, spoken} from './letters.js';

export function softmax(logits) {
  const largest = Math.max(...logits);
  const scaled = logits.map((value) => Math.exp(value - largest));
  const total = scaled.reduce((sum, value) => sum + value, 0);
  return scaled.map((value) => value / total);
}

/** The most probable outputs, [name, probability], which share a probability; of a single output nothing. */
export function ranked(outputs, logits, shared = 1) {
  if (outputs.length === 1) return [];
  const parts = softmax(logits);
  return outputs.map((name, o) => [name, parts[o] * shared, o]).sort((a, b) => b[1] - a[1]);
}

/** The most probable outputs, if they share a probability, or each has its own. */
export function outcomesOf({outputs, logits, others, values, verdict, quantity, probability, classes}) {
  if (classes) return [[classes[1], probability(0), 0], [classes[0], 1 - probability(0), undefined]].sort((a, b) => b[1] - a[1]);
  if (quantity && probability && (values || outputs.length === 1 || quantity === 'log-odds')) return outputs.map((name, o) => [name, probability(o), o]).sort((a, b) => b[1] - a[1]);
  return values || verdict ? [] : ranked(outputs, outputs.map((_, o) => logits(o)), others ? 1 - others.probability : 1);
}

/** A prediction in words: the most probable output and the next; of a single output its value, and of `values` the largest two. */
export function says(outputs, logits, shared = 1, values = false) {
  if (outputs.length === 1) return shown(logits[0]);
  if (values) return [...outputs.keys()].sort((a, b) => logits[b] - logits[a]).slice(0, 2).map((o) => `${quoted(brief(outputs[o]))} ${shown(logits[o])}`).join(', then ');
  const [[first, part], [second, rest]] = ranked(outputs, logits, shared);
  return `${quoted(brief(first))} ${percent(part)}, then ${quoted(brief(second))} ${percent(rest)}`;
}

/** A name in quotes, unless it is only the number of an output. */
export const quoted = (name) => (/^((the )?output\b|group \d+$)/.test(name) ? name : `“${isolated(name)}”`);

/** What the numbers of a reading are, by kind. about(lead, reading): the note on the bars. largest: what the headline calls the
 * number of a token. moved(place): what raised or lowered a single output. would: what changes it, where the numbers are losses. */
const KINDS = {
  term: {
    about: (lead, {noun, unit}) => `Each bar is what a ${noun} adds to ${unit ? 'the logit of ' : ''}${lead}, in ${named(unit)}.`,
    largest: 'term', moved: (place) => `the term of ${place}`,
  },
  share: {
    about: (lead, reading) => `${BY[reading.method] ?? 'Bars'}: what each ${reading.noun} added to ${split(lead, reading)}, or took from it, ${inUnit(reading)}${HOW[reading.method]?.(reading.noun) ?? ''}.`,
    largest: 'share', moved: (place) => place,
  },
  average: {
    about: (lead, reading) => `${reading.error ? 'Shapley values, ±: 95% interval' : 'Exact Shapley values'}: what each ${reading.noun} adds to ${split(lead, reading)}, or takes from it, ${inUnit(reading)}, on average over all orders in which the ${reading.noun}s come.`,
    largest: 'Shapley value', moved: (place) => place,
  },
  taken: {
    about: (lead, reading) => `By occlusion: what ${split(lead, reading)} would lose, ${inUnit(reading)}, if the ${reading.noun} alone were taken away.`,
    would: 'taking away',
  },
  shapley: {
    about: (lead, {noun, unit, outputs, verdict}) => `Bars: what knowing each ${noun} changes in ${verdict && outputs.length === 1 ? 'the verdict, 1 for accepted and 0 for rejected' : `${lead}, in ${named(unit)}`}, on average over what else is known.`,
    largest: 'Shapley value', moved: (place) => `knowing ${place}`,
  },
  pair: {
    about: (lead, {noun, index, explained, ...reading}, symbols, picked) => `Bars: what each ${noun} and ${placeOf(symbols, picked, noun)} change together in ${split(lead, reading)}, less what they change apart, ${inUnit(reading)}, on average over what else is there (${index[0].toUpperCase()}${index.slice(1)} interactions${explained === undefined ? '' : `, of an affine surrogate that explains ${percent(explained)} of the variance over coalitions`}).`,
  },
  deleted: {
    about: (lead, {noun, unit}) => `Bars: by how much ${lead} falls when the ${noun} is deleted, in ${named(unit)}; the network has read every such text.`,
    would: 'deleting',
  },
  replaced: {
    about: (lead, {noun, unit, alternatives}) => `Bars: by how much ${lead} falls when another ${noun} is read in its place, in ${named(unit)}, on average over ${alternatives}.`,
    would: 'replacing',
  },
};

const named = (unit) => unit || 'the unit of the output';

const BY = {telescoping: 'By telescoping', path_integral: 'By a path integral', contributions: 'Contributions'};

/** What a share of each method depends on. */
const HOW = {
  telescoping: (noun) => `, as the ${singly(noun)}s came one after another`,
  path_integral: (noun) => `, as all ${singly(noun)}s were faded in together`,
};

/** What comes by itself: the share of a group is the sum of those of its steps. */
const singly = (noun) => (noun === 'group' ? 'step' : noun);

/** What is split: "the log-odds of output 1", or the output itself.
 * @param {string} lead @param {{quantity?: string}} reading */
export const split = (lead, {quantity}) => (quantity ? `the ${quantity} of ${lead}` : lead);

/** "in nats".
 * @param {{unit?: string, quantity?: string}} reading */
const inUnit = ({unit, quantity}) => `in ${unit || (quantity ? `parts of a ${quantity}` : named(unit))}`;

/** A probability as a number, with the digits that tell it from 0 and 1. */
export function chance(part) {
  if (part > 0.01 && part < 0.99) return part.toFixed(3);
  const near = Math.min(part, 1 - part);
  if (near < 1e-6) return part > 0.5 ? 'above 0.999999' : 'below 0.000001';
  return part.toFixed(1 - Math.floor(Math.log10(near)));
}

/** The bound of the 95 % interval of a bar, of some tokens and one output over another: at most the sum of theirs.
 * @param {{error?: function(number, number): number}} reading @param {number[]} group @param {number[]} pair */
export const errorOf = ({error}, group, [first, second]) => (error ? group.reduce((sum, i) => sum + error(i, first) + (second === undefined ? 0 : error(i, second)), 0) : 0);

/** A number with its interval: "+3.04 ± 0.02". */
export function withMargin(value, margin, format) {
  if (!margin) return format(value);
  const text = format(margin).replace('+', '');
  return `${format(value)} ± ${/[1-9]/.test(text) ? text : `<${text.replace(/.$/, '1')}`}`;
}

const UNDECIDED = 1.15; // times chance, below which a probability decides nothing
const SMALL = 0.01; // of a change, which a sum may miss; of a probability, which hardly changes
const SEEN = 0.001; // of a change, which is said where a sum misses it

/** A number of the first output, less that of the second if two are compared.
 * @param {function(number): number} of @param {number[]} pair */
export const between = (of, [first, second]) => of(first) - (second === undefined ? 0 : of(second));

/** Whether bars add up, in a sentence. rest: what they are said to add up with. */
export function sumOf(reading, lead, pair, rest) {
  if (!reading.rest.length) return '';
  const over = (of) => between(of, pair);
  const values = [...Array(reading.tokens).keys()].map(lead);
  const terms = [...reading.rest.map(([, of]) => over(of)), ...values];
  const end = over(reading.outcome ?? reading.logits);
  const change = Math.abs(end - reading.rest.reduce((sum, [, of]) => sum + over(of), 0));
  const missed = Math.abs(end - terms.reduce((sum, term) => sum + term, 0));
  const size = terms.reduce((sum, term) => sum + Math.abs(term), Math.abs(end));
  const what = pair.length > 1 ? `the difference of the two ${reading.quantity ? plural(reading.quantity) : reading.unit ? 'logits' : 'outputs'}` : reading.quantity ? `the ${reading.quantity}` : 'the output';
  if (missed > SMALL * change + ROUNDING * size) {
    const [lost, all] = [missed, change].map((number) => withUnit(shown(Number(number.toPrecision(2))), reading));
    return `The shares miss the change of ${what} by ${lost} of ${all}${reading.kind === 'taken' ? ': what is lost without one or another need not add up' : ''}.`;
  }
  const gap = missed > SEEN * change + ROUNDING * size ? `, but for ${withUnit(shown(Number(missed.toPrecision(2))), reading)}` : '';
  return `${rest.length ? `With ${rest.join(' and ')} they` : 'They'} add up to ${what}${gap}.`;
}

/** What bars do not have and the sum needs, as text: "+0.52 of the output without any step". format: of the bars. */
export function restOf(reading, pair, format) {
  const over = (of) => between(of, pair);
  const rest = reading.rest.map(([name, of]) => [over(of), name]);
  const end = over(reading.outcome ?? reading.logits);
  const least = SEEN * Math.abs(end - rest.reduce((sum, [value]) => sum + value, 0)) + ROUNDING * rest.reduce((sum, [value]) => sum + Math.abs(value), Math.abs(end));
  const text = (value) => (/[1-9]/.test(format(value)) ? format(value) : Math.abs(value) > least ? `${value > 0 ? '+' : '−'}${shown(Math.abs(value))}` : '');
  return rest.map(([value, name]) => [text(value), name]).filter(([value]) => value).map(([value, name]) => `${value} of ${name}`);
}

/** What no token gives of the first output, over the second: a bar of its own; null where it is nothing.
 * @param {{unit: any, rest: any[], kind: string}} reading @param {number[]} pair @param {function(number): string} format */
export function baseOf(reading, pair, format) {
  const over = (of) => between(of, pair);
  const value = reading.rest.reduce((sum, [, of]) => sum + over(of), 0);
  if (!reading.rest.length || !/[1-9]/.test(format(value))) return null;
  const says = reading.rest.map(([name, of]) => `${name}: ${withUnit(format(over(of)), reading)}`).join(', ');
  return {name: reading.rest.length > 1 ? 'start' : reading.kind === 'shapley' ? 'mean' : 'nothing', value, says};
}

/** The least value of a bar of full height: a nat, of other units none; and the largest one of all texts that were explained
 * together. scale: that one, of single outputs.
 * @param {{unit: any, scale?: number}} reading @param {number[]} pair */
export const floorOf = ({unit, scale = 0}, pair) => Math.max(unit === 'nats' ? 1 : 0, pair.length > 1 ? 0 : scale);

/** The format of the bars of a reading.
 * @param {Record<string, any>} reading @param {number[]} values @param {number[]} pair */
export function formatOf({outcome, logits, rest}, values, pair) {
  const over = (of) => Math.abs(between(of, pair));
  return signedColumn(values, ROUNDING * rest.reduce((sum, [, of]) => sum + over(of), over(outcome ?? logits)));
}

const plural = (quantity) => ({logit: 'logits', probability: 'probabilities'})[quantity] ?? quantity;

/** Where a probability is near 0 or 1, in a sentence: what that means for shares.
 * @param {Record<string, any>} reading @param {number[]} pair */
export function saturation({quantity, probability, outputs, noun, kind}, [first]) {
  const part = probability?.(first);
  if (part === undefined || !quantity || (part >= SMALL && part <= 1 - SMALL)) return '';
  const name = outputs.length > 1 ? ` of ${quoted(brief(outputs[first]))}` : '';
  if (quantity === 'probability') return `A probability of ${chance(part)}${name} hardly changes, whatever a ${noun} says: split the logit instead.`;
  return `The bars say what ${kind === 'pair' ? `${noun}s change together in` : 'moved'} the ${quantity}${name}, which a probability of ${chance(part)} hardly shows any more.`;
}

/** A number as text with the unit of a reading. */
export const withUnit = (text, {unit}) => (unit ? `${text} ${unit}` : text);

/** What the bars of a reading are; lead: the output, or "a over b". */
export const noteOn = (reading, lead, symbols) => KINDS[reading.kind].about(lead, reading, symbols, reading.picked);

/** "isan-128 says “r”, 96% sure; largest term: the space before “world” (+2.31 nats)": what a reading says, and its strongest
 * token. pair: the outputs compared. */
export function sentence(run, reading, symbols, lead, pair) {
  const {outputs, logits, others, values, verdict} = reading;
  const [first, second] = pair;
  const all = outputs.map((_, o) => logits(o));
  const who = run || (verdict ? 'The automaton' : 'The network');
  const order = [...all.keys()].sort((a, b) => all[b] - all[a]);
  const one = second === undefined;
  const strong = (text) => h('b', {class: !one && order[0] === first ? 'for' : null}, text);
  const compared = one || (!values && order[0] === first && order[1] === second) ? '' : ` for ${quoted(brief(outputs[first]))} over ${quoted(brief(outputs[second]))}`;
  const ending = [reading.wrong ? [', and ', h('b', {class: 'error'}, 'is wrong'), `: the label is ${quoted(reading.label)}`] : '', strongest(reading, symbols, lead, pair, compared), '.'];
  if (one && verdict) return [who, strong(all[0] > 0.5 ? ' accepts' : ' rejects'), ' the word', ...ending];
  if (one && reading.classes) {
    const part = reading.probability(first);
    const [said, sure] = part < 0.5 ? [reading.classes[0], 1 - part] : [reading.classes[1], part];
    return [who, ' says ', strong(quoted(said)), `, ${percent(sure, 0)} sure (${reading.quantity} of ${quoted(outputs[first])} ${shown(reading.outcome(first))})`, ...ending];
  }
  if (one) return [who, ' says ', strong(value(reading, first)), (reading.quantity || reading.of || values || quoted(outputs[first]) !== outputs[first]) && outputs[first] !== 'the output' ? ` for ${quoted(outputs[first])}` : '', ...ending];
  if (values) {
    const number = column([first, second].map((o) => reading.logits(o)));
    const of = (o) => (reading.quantity ? value(reading, o) : number(reading.logits(o)));
    return [who, ' says ', strong(`${of(first)} for ${quoted(outputs[first])}`), `, ${of(second)} for ${quoted(outputs[second])}`, ...ending];
  }
  if (reading.odds) return [who, ' says ', strong(quoted(outputs[order[0]])), `, ${value(reading, order[0])}`, ...ending];
  if (verdict) return [who, ' says ', strong(quoted(outputs[order[0]])), ...ending];
  const [[winner, part]] = ranked(outputs, all, others ? 1 - others.probability : 1);
  const chance = 1 / (outputs.length + (others ? others.count : 0));
  if (part < UNDECIDED * chance) return [who, strong(' does not decide'), `: ${quoted(winner)} ${percent(part, 0)}, chance is ${percent(chance, 0)}`, ...ending];
  return [who, ' says ', strong(quoted(winner)), `, ${percent(part, 0)} sure`, reading.quantity === 'logit' ? ` (logit ${shown(reading.outcome(order[0]))})` : '', ...ending];
}

/** An output in words: "log-odds 3.21, probability 0.961". */
function value({quantity, outcome, logits, probability}, o) {
  const part = quantity && probability ? `probability ${chance(probability(o))}` : '';
  if (!quantity) return shown(logits(o));
  return quantity === 'probability' ? part : [`${quantity} ${shown(outcome(o))}`, part].filter(Boolean).join(', ');
}

/** The end of a headline: the token with the largest number. Of a single output that is a sum, the one that moved it most in the
 * direction in which it moved, and the one that moved it further the other way, if there is one. */
function strongest(reading, symbols, lead, pair, compared) {
  const {kind, noun, tokens, rest} = reading;
  const one = pair.length === 1;
  const {largest, moved, would} = KINDS[kind];
  const numbers = symbols.slice(0, tokens).map((_, i) => lead(i));
  const format = formatOf(reading, numbers, pair);
  const top = (size) => numbers.reduce((best, value, i) => (size(value) > size(numbers[best]) ? i : best), 0);
  const most = top(Math.abs);
  if (!/[1-9]/.test(numbers.length ? format(numbers[most]) : '')) return '';
  const place = (i) => placeOf(symbols, i, noun);
  const margin = (i) => errorOf(reading, [i], pair);
  const alike = (i) => numbers.filter((number, other) => other !== i && Math.sign(number) === Math.sign(numbers[i]) && format(number) === format(numbers[i])).length;
  const value = (i) => `${withUnit(withMargin(numbers[i], margin(i), format), reading)}${alike(i) ? `, as ${alike(i)} other${alike(i) === 1 ? '' : 's'}` : ''}`;
  if (reading.of) return `; ${place(reading.picked)} acts most with ${place(most)} (${value(most)})`;
  if (would) {
    const by = withUnit(format(Math.abs(numbers[most])).slice(1), reading);
    const verb = numbers[most] > 0 ? 'lower' : 'raise';
    const tied = alike(most) ? `, as ${alike(most)} other${alike(most) === 1 ? '' : 's'} would` : '';
    return `; ${would} ${place(most)} would ${verb} ${one ? 'it' : `the lead${compared}`} most, by ${by}${kind === 'replaced' ? ' on average' : ''}${tied}`;
  }
  /** Whether the intervals tell the largest from all others. */
  const unsure = (best, size) => (numbers.some((_, i) => i !== best && size(numbers[i]) + margin(i) > size(numbers[best]) - margin(best)) && margin(best) ? ', as far as the intervals tell' : '');
  if (!one) return `; largest ${largest}${compared}: ${place(most)} (${value(most)})${unsure(most, Math.abs)}`;
  const by = (reading.outcome ?? reading.logits)(pair[0]) - rest.reduce((sum, [, of]) => sum + of(pair[0]), 0);
  const sign = Math.sign(by) || Math.sign(numbers[most]);
  const along = top((number) => sign * number);
  const verb = (i) => (numbers[i] > 0 ? 'raised' : 'lowered');
  if (sign * numbers[along] <= 0) return `; ${verb(most)} most by ${moved(place(most))} (${value(most)})${unsure(most, Math.abs)}`;
  const against = along === most ? '' : `, though ${moved(place(most))} ${verb(most)} it more (${value(most)})`;
  return `; ${verb(along)} most by ${moved(place(along))} (${value(along)})${unsure(along, (number) => sign * number)}${against}`;
}

/** Where a token stands, in words: a letter in its word, a space before one, a step by its number; one of several alike by its
 * position too, from 1. */
export function placeOf(symbols, i, noun = 'symbol') {
  if (noun === 'step') return `step ${symbols[i]}`;
  const alike = (place, among) => (among.filter((name) => name === symbols[i]).length > 1 ? `${place} at position ${i + 1}` : place);
  if (blank(symbols)) return alike(quoted(symbols[i]), symbols);
  const wordAt = (from) => {
    let [start, end] = [from, from];
    while (start > 0 && !isSpace(symbols[start - 1])) start -= 1;
    while (end < symbols.length && !isSpace(symbols[end])) end += 1;
    return symbols.slice(start, end);
  };
  if (isSpace(symbols[i])) {
    const next = i + 1 < symbols.length && !isSpace(symbols[i + 1]) ? wordAt(i + 1).join('') : '';
    const name = spoken(symbols[i]);
    return next ? `the ${name} before ${quoted(next)}` : `the last ${name}`;
  }
  const word = wordAt(i);
  return word.length > 1 ? alike(`the ${quoted(symbols[i])} of ${quoted(word.join(''))}`, word) : quoted(symbols[i]);
}
