// What a network says: probabilities of its outputs, and the sentence about a reading.

import {h} from './render.js';
import {percent, shown, signedColumn} from './scales.js';
import {blank, brief, isSpace} from './bars.js';

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

/** A prediction in words: the most probable output and the next; of a single output its value. */
export function says(outputs, logits, shared = 1) {
  if (outputs.length === 1) return shown(logits[0]);
  const [[first, part], [second, rest]] = ranked(outputs, logits, shared);
  return `${quoted(brief(first))} ${percent(part)}, then ${quoted(brief(second))} ${percent(rest)}`;
}

/** A name in quotes, unless it is only the number of an output. */
export const quoted = (name) => (/^(the )?output\b/.test(name) ? name : `“${name}”`);

/** What the numbers of a reading are, by kind. about(lead, reading): the note on the bars. largest: what the headline calls the
 * number of a token. moved(place): what raised or lowered a single output. would: what changes it, where the numbers are losses. */
const KINDS = {
  term: {
    about: (lead, {noun, unit}) => `Each bar is what a ${noun} adds to ${unit ? 'the logit of ' : ''}${lead}, in ${named(unit)}.`,
    largest: 'term', moved: (place) => `the term of ${place}`,
  },
  share: {
    about: (lead, {noun, unit}) => `Bars: what each ${noun} added to ${lead}, or took from it, in ${named(unit)}.`,
    largest: 'share', moved: (place) => place,
  },
  shapley: {
    about: (lead, {noun, unit, outputs, verdict}) => `Bars: what knowing each ${noun} changes in ${verdict && outputs.length === 1 ? 'the verdict, 1 for accepted and 0 for rejected' : `${lead}, in ${named(unit)}`}, on average over what else is known.`,
    largest: 'Shapley value', moved: (place) => `knowing ${place}`,
  },
  pair: {
    about: (lead, {noun, unit, index, explained}, symbols, picked) => `Bars: what each ${noun} and ${placeOf(symbols, picked, noun)} change together in ${lead}, less what they change apart, in ${named(unit)}, on average over what else is there (${index[0].toUpperCase()}${index.slice(1)} interactions${explained === undefined ? '' : `, of an affine surrogate that explains ${percent(explained)} of the variance over coalitions`}).`,
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

const number = (value) => shown(value).replace(/^-/, '−');

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
  const ending = [strongest(reading, symbols, lead, one, compared), '.'];
  if (one && verdict) return [who, strong(all[0] > 0.5 ? ' accepts' : ' rejects'), ' the word', ...ending];
  if (one && reading.of && outputs[0] !== 'the output') return [who, ' says ', strong(`${number(all[0])} for ${quoted(outputs[0])}`), ...ending];
  if (one) return [who, ' says ', strong(number(all[0])), ...ending];
  if (values) return [who, ' says ', strong(`${number(all[first])} for ${quoted(outputs[first])}`), `, ${number(all[second])} for ${quoted(outputs[second])}`, ...ending];
  if (verdict) return [who, ' says ', strong(quoted(outputs[order[0]])), ...ending];
  const [[winner, part]] = ranked(outputs, all, others ? 1 - others.probability : 1);
  return [who, ' says ', strong(quoted(winner)), `, ${percent(part, 0)} sure`, ...ending];
}

/** The end of a headline: the token with the largest number. Of a single output that is a sum, the one that moved it most in the
 * direction in which it moved, and the one that moved it further the other way, if there is one. */
function strongest(reading, symbols, lead, one, compared) {
  const {kind, noun, tokens, rest} = reading;
  const {largest, moved, would} = KINDS[kind];
  const numbers = symbols.slice(0, tokens).map((_, i) => lead(i));
  const format = signedColumn(numbers);
  const top = (size) => numbers.reduce((best, value, i) => (size(value) > size(numbers[best]) ? i : best), 0);
  const most = top(Math.abs);
  if (!/[1-9]/.test(numbers.length ? format(numbers[most]) : '')) return '';
  const place = (i) => placeOf(symbols, i, noun);
  const value = (i) => withUnit(format(numbers[i]), reading);
  if (reading.of) return `; ${place(reading.picked)} acts most with ${place(most)} (${value(most)})`;
  if (would) {
    const by = withUnit(format(Math.abs(numbers[most])).slice(1), reading);
    const verb = numbers[most] > 0 ? 'lower' : 'raise';
    return `; ${would} ${place(most)} would ${verb} ${one ? 'it' : `the lead${compared}`} most, by ${by}${kind === 'replaced' ? ' on average' : ''}`;
  }
  if (!one) return `; largest ${largest}${compared}: ${place(most)} (${value(most)})`;
  const by = reading.logits(0) - rest.reduce((sum, [, of]) => sum + of(0), 0);
  const sign = Math.sign(by) || Math.sign(numbers[most]);
  const along = top((number) => sign * number);
  const verb = (i) => (numbers[i] > 0 ? 'raised' : 'lowered');
  if (sign * numbers[along] <= 0) return `; ${verb(most)} most by ${moved(place(most))} (${value(most)})`;
  const against = along === most ? '' : `, though ${moved(place(most))} ${verb(most)} it more (${value(most)})`;
  return `; ${verb(along)} most by ${moved(place(along))} (${value(along)})${against}`;
}

/** Where a token stands, in words: a letter in its word, a space before one, a step by its number; one of several alike by its
 * position too, from 1. */
export function placeOf(symbols, i, noun = 'symbol') {
  if (noun === 'step') return `step ${symbols[i]}`;
  const alike = (place, among) => (among.filter((name) => name === symbols[i]).length > 1 ? `${place} at position ${i + 1}` : place);
  if (blank(symbols)) return alike(`“${symbols[i]}”`, symbols);
  const wordAt = (from) => {
    let [start, end] = [from, from];
    while (start > 0 && !isSpace(symbols[start - 1])) start -= 1;
    while (end < symbols.length && !isSpace(symbols[end])) end += 1;
    return symbols.slice(start, end);
  };
  if (isSpace(symbols[i])) {
    const next = i + 1 < symbols.length && !isSpace(symbols[i + 1]) ? wordAt(i + 1).join('') : '';
    const name = {'␣': 'space', '⏎': 'new line', '⇥': 'tab'}[symbols[i]];
    return next ? `the ${name} before “${next}”` : `the last ${name}`;
  }
  const word = wordAt(i);
  return word.length > 1 ? alike(`the “${symbols[i]}” of “${word.join('')}”`, word) : `“${symbols[i]}”`;
}
