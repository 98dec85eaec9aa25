// What a network says: probabilities of its outputs, and the sentence about a reading.

import {h} from './render.js';
import {percent, shown} from './scales.js';
import {blank, isSpace} from './bars.js';

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
  return `${first} ${percent(part)}, then ${second} ${percent(rest)}`;
}

/** "isan-128 says r, 96% sure, because of the space before “world”": what a reading says, and by which token.
 * pair: the outputs compared. */
export function sentence(run, {outputs, logits, others}, symbols, lead, pair) {
  const [first] = pair;
  const all = outputs.map((_, o) => logits(o));
  const strongest = symbols.reduce((best, _, i) => (lead(i) > lead(best) ? i : best), 0);
  const because = lead(strongest) > 0 ? `, ${outputs.length === 1 ? 'most of all ' : ''}because of ${placeOf(symbols, strongest)}` : '';
  const who = run || 'The network';
  if (outputs.length === 1) return [who, ' says ', h('b', {class: 'for'}, shown(all[0])), `${because}.`];
  const [[winner, part, o]] = ranked(outputs, all, others ? 1 - others.probability : 1);
  const said = [who, ' says ', h('b', {class: o === first ? 'for' : null}, winner), `, ${percent(part, 0)} sure`];
  return o === first ? [...said, `${because}.`] : [...said, `; for ${outputs[first]}, ${placeOf(symbols, strongest)} speaks most.`];
}

/** Where a token stands, in words: a letter in its word, a space before one. */
export function placeOf(symbols, i) {
  if (blank(symbols)) return `“${symbols[i]}”`;
  const wordAt = (from) => {
    let [start, end] = [from, from];
    while (start > 0 && !isSpace(symbols[start - 1])) start -= 1;
    while (end < symbols.length && !isSpace(symbols[end])) end += 1;
    return symbols.slice(start, end).join('');
  };
  if (isSpace(symbols[i])) {
    const next = i + 1 < symbols.length && !isSpace(symbols[i + 1]) ? wordAt(i + 1) : '';
    const name = {'␣': 'space', '⏎': 'new line', '⇥': 'tab'}[symbols[i]];
    return next ? `the ${name} before “${next}”` : `the last ${name}`;
  }
  const word = wordAt(i);
  return word.length > 1 ? `the “${symbols[i]}” of “${word}”` : `“${word}”`;
}
