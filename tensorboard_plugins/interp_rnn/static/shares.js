// Shares of symbols in outputs: the shaded text, bars of two outputs, words, the probabilities of logits.

import {html, LINES, shown, signed, svg} from './charts.js';

const BARS = 50;
const NAMES = {'␣': 'space', '⏎': 'newline', '⇥': 'tab'};

/** What separates the names of a text: a blank, unless all are single characters. */
export function blank(names) {
  return names.every((name) => [...name].length === 1) ? '' : ' ';
}

/** Fills a paragraph with the symbols of a text, each shaded by a number from red (below 0) to blue.
 * one: of each position the number, or null where there is none; what a tooltip says; whether it is off, or at. */
export function shadedText(text, symbols, one, {dark, ontoggle}) {
  const all = symbols.map((_, i) => one(i));
  const limit = Math.max(...all.map(({value}) => Math.abs(value ?? 0)), 1e-9);
  const between = blank(symbols);
  text.replaceChildren(...symbols.map((symbol, i) => {
    const {value, says, off = false, at = false} = all[i];
    return html('span', {
      class: `${off ? 'off' : ''}${at ? ' at' : ''}`, title: says, 'aria-label': `${NAMES[symbol] ?? symbol}: ${says}`,
      style: value === null ? 'opacity:0.45' : `background:${signed(value * 0.8, limit, dark)}`,
      ...(ontoggle ? {tabindex: 0, role: 'button', 'aria-pressed': String(off || at), onclick: () => ontoggle(i), onkeydown: (event) => {
        if (!['Enter', ' '].includes(event.key)) return;
        event.preventDefault();
        ontoggle(i);
        text.children[i].focus();
      }} : {}),
    }, `${symbol}${between}`);
  }));
}

/** Bars of two outputs a row: blue and orange, negative ones to the left; the difference as a number on the right.
 * rows: [{name, off, values: [first, second]}]; onpick(row) where rows can be chosen. */
export function bars(rows, {width = 440, unit = ' nats', onpick = null}) {
  const height = Math.max(14, Math.min(24, 640 / rows.length));
  const limit = Math.max(...rows.flatMap((row) => row.values.map(Math.abs)), 1e-9);
  const left = 96, right = 62, middle = left + (width - left - right) / 2;
  const reach = (width - left - right) / 2 - 6;
  const single = rows.every(({values}) => values.length === 1);
  const root = svg('svg', {viewBox: `0 0 ${width} ${rows.length * height + 24}`, width, height: rows.length * height + 24,
    role: 'group', 'aria-label': single ? 'shares in the output' : 'shares in the two most probable outputs'});
  rows.forEach((row, i) => {
    const y = i * height;
    const says = `${row.name}: ${row.values.map(shown).join(' and ')}${unit}`;
    const choose = onpick && row.sources ? {tabindex: 0, role: 'button', 'aria-pressed': String(row.off), onclick: () => onpick(row),
      onkeydown: (event) => { if (event.key === 'Enter') onpick(row); }} : {role: 'img'};
    const group = svg('g', {class: `${row.off ? 'gone' : ''}${choose.onclick ? ' pick' : ''}`, 'aria-label': says, ...choose}, svg('title', {}, says),
      svg('rect', {x: 0, y, width, height, fill: 'transparent'}),
      svg('text', {x: left - 6, y: y + height / 2 + 4, 'text-anchor': 'end'}, row.name.length > 12 ? `…${row.name.slice(-11)}` : row.name),
      svg('text', {x: width, y: y + height / 2 + 4, 'text-anchor': 'end', class: 'number'}, number(row.values.length > 1 ? row.values[0] - row.values[1] : row.values[0])));
    const thick = (height - 4) / row.values.length;
    row.values.forEach((value, j) => group.append(svg('rect', {
      x: value < 0 ? middle + (value / limit) * reach : middle, y: y + 2 + j * thick,
      width: (Math.abs(value) / limit) * reach, height: thick, fill: LINES[j ? 4 : 0],
    })));
    root.append(group);
  });
  const foot = rows.length * height + 18;
  root.append(svg('line', {x1: middle, x2: middle, y1: 0, y2: rows.length * height, class: 'grid'}),
    svg('text', {x: left, y: foot}, `−${shown(limit)}`),
    svg('text', {x: width - right - 6, y: foot, 'text-anchor': 'end'}, `${shown(limit)}${unit}`),
    svg('text', {x: width, y: foot, 'text-anchor': 'end'}, single ? '' : 'difference'));
  return root;
}

/** A number with its sign. */
export function number(value) {
  return `${value > 0 ? '+' : value < 0 ? '−' : ''}${shown(Math.abs(value))}`;
}

/** Of many rows, those in which the two outputs differ most, in order, and the sum of the others. */
export function strongest(rows) {
  if (rows.length <= BARS) return rows;
  const apart = (row) => Math.abs(row.values[0] - (row.values[1] ?? 0));
  const kept = new Set([...rows].sort((a, b) => apart(b) - apart(a)).slice(0, BARS - 1));
  const others = rows.filter((row) => !kept.has(row));
  const total = (i) => others.reduce((sum, row) => sum + row.values[i], 0);
  return [{name: `${others.length} others`, off: false, values: rows[0].values.map((_, i) => total(i))}, ...rows.filter((row) => kept.has(row))];
}

/** First symbol, from 1, of each word: a word begins at white space. */
export function wordStarts(symbols) {
  const spaces = symbols.map((symbol, i) => [symbol, i + 1]).filter(([symbol]) => ['␣', '⏎', '⇥'].includes(symbol)).map(([, s]) => s);
  return [...new Set([0, 1, ...spaces])].sort((a, b) => a - b);
}

/** The positions of each word up to a target. */
export function grouped(starts, target) {
  const ends = [...starts.slice(1), Infinity];
  return starts.filter((start) => start <= target)
    .map((start, i) => [...Array(Math.min(ends[i] - 1, target) - start + 1).keys()].map((offset) => start + offset));
}

export function softmax(logits) {
  const largest = Math.max(...logits);
  const scaled = logits.map((value) => Math.exp(value - largest));
  const total = scaled.reduce((sum, value) => sum + value, 0);
  return scaled.map((value) => value / total);
}

/** The two largest; the first twice where there is but one. */
export function best(probabilities) {
  const order = [...probabilities.keys()].sort((a, b) => probabilities[b] - probabilities[a]);
  return [order[0], order[1] ?? order[0]];
}

/** What a prediction says: the two most probable outputs, which share a probability; of a single output, its value. */
export function says(values, outputs, shared = 1) {
  if (outputs.length === 1) return [`${shown(values[0])}`, ''];
  const probabilities = softmax(values).map((part) => part * shared);
  const [first, second] = best(probabilities);
  const part = (o) => `${outputs[o]} ${(100 * probabilities[o]).toFixed(1)}%`;
  return [part(first), `, then ${part(second)}`];
}
