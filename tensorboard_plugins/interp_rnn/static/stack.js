// A text in a sentence and its bars, as one of several: of the overview, of a batch, of two runs. All have one scale.

import {SANS, strip, widthOf} from './bars.js';
import {baseOf, errorOf, floorOf, formatOf, noteOn, outcomesOf, quoted, sentence, withMargin, withUnit} from './outputs.js';
import {leadOf, pairOf} from './readings.js';
import {h} from './render.js';
import {shown} from './scales.js';

const OUTPUTS = 3;

/** A reading of a text. sentence(who): the headline; short and sure: what it says and how probable that is, null if there is no probability;
 * unit, largest, of the bars; bars(width, floor, up) alone, of what speaks for an output, names(width) to go above them; drawing(width, floor) with the names; label, the
 * true class, and whether the answer is wrong, where that is known; note, what the bars are. What was not read is left out.
 * chosen: {up, down}, the outputs compared. */
export function lineOf(reading, symbols, chosen = {}) {
  const pair = pairOf(reading, chosen);
  const lead = leadOf(reading, pair);
  const all = symbols.slice(0, reading.tokens);
  const off = new Set([...reading.masked ?? [], ...reading.fixed ?? []]);
  const places = [...all.keys()].filter((i) => !off.has(i));
  const values = all.map((_, i) => lead(i));
  const format = formatOf(reading, values, pair);
  const margin = (i) => errorOf(reading, [i], pair);
  const base = baseOf(reading, pair, format);
  const answers = outcomesOf(reading).slice(0, OUTPUTS);
  const [short, sure] = answers[0] ?? [shown((reading.outcome ?? reading.logits)(pair[0])), null];
  /** What speaks for an output, over the strongest other one. */
  const speaking = (up) => {
    const of = leadOf(reading, pairOf(reading, {up}));
    return places.map(of);
  };
  return {
    sentence: (who) => sentence(who, reading, symbols, lead, pair), short, sure, unit: reading.unit, label: reading.label, wrong: reading.wrong,
    largest: Math.max(floorOf(reading, pair), Math.abs(base?.value ?? 0), ...places.map((i) => Math.abs(values[i]) + margin(i))),
    bars: (width, floor, up) => miniature(speaking(up), width, floor),
    names: (width) => above(places.map((i) => all[i]), width),
    note: noteOn(reading, pair.map((o) => quoted(reading.outputs[o])).join(' over '), symbols),
    drawing: (width, floor) => strip(places.map((i) => ({name: all[i], value: values[i], margin: margin(i), says: withUnit(withMargin(values[i], margin(i), format), reading)})), {
      width, format, noun: reading.noun, onopen: () => {}, base, floor,
      outputs: answers.map(([name, part, o]) => ({name, part, look: o === pair[0] ? 'for' : o === pair[1] ? 'against' : null})),
    }),
    rows: (name) => places.map((i) => [name, i + 1, all[i], values[i]]),
  };
}

const WIDEST = 56; // of a bar and its name in a table
const FONT = `12px ${SANS}`;

/** The names of bars, as `miniature` places these; of many none. */
function above(names, width) {
  const wide = Math.min(WIDEST, width / names.length);
  if (wide < WIDEST / 2 && names.some((name) => widthOf(name, FONT) > wide)) return null;
  return h('svg', {viewBox: `0 0 ${width} 16`, width, height: 16}, names.map((name, i) => h('text', {x: (i + 0.4) * wide, y: 12, 'text-anchor': 'middle', textLength: widthOf(name, FONT) > wide - 2 ? wide - 4 : null, lengthAdjust: 'spacingAndGlyphs'}, name)));
}

/** Bars alone, as wide as a line of a table. */
function miniature(values, width, floor) {
  const largest = Math.max(floor, ...values.map(Math.abs), 1e-9);
  const wide = Math.min(WIDEST, width / values.length);
  const bars = (sign) => values.map((value, i) => (sign * value > 0 ? `M${(i * wide).toFixed(1)} 16v${((-value / largest) * 15).toFixed(1)}h${(0.8 * wide).toFixed(1)}V16z` : '')).join('');
  return h('svg', {viewBox: `0 0 ${width} 32`, width, height: 32, 'aria-hidden': 'true'}, h('line', {x1: 0, x2: wide * values.length, y1: 16, y2: 16, class: 'grid'}),
    h('path', {d: bars(1), class: 'for'}), h('path', {d: bars(-1), class: 'against'}));
}

/** Texts one under another: [{name, before, who, line, open()}], each with a button that opens it; what stands before the sentence, and who says it. */
export function stacked(items, width) {
  const scale = (unit) => Math.max(...items.filter(({line}) => line.unit === unit).map(({line}) => line.largest));
  return items.map(({name, before = '', who, line, open}) => h('section', {class: 'card', key: name},
    h('h2', {class: 'headline'}, before, line.sentence(who)),
    h('figure', {}, line.drawing(width, scale(line.unit))),
    h('button', {type: 'button', class: 'more', onclick: open}, `${name} alone ▸`)));
}
