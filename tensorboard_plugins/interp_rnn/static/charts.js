// What all views draw with: elements, colours, line charts, maps.

import {blank, isSpace} from './letters.js';
import {h, patch} from './render.js';
import {rangeOf, scale, shown} from './scales.js';

const SVG = 'http://www.w3.org/2000/svg';

/** An HTML element with attributes and children, as `h` describes it. */
export function html(name, attributes, ...children) {
  return within(document.createElement('div'), name, attributes, children);
}

/** The same for SVG. */
export function svg(name, attributes, ...children) {
  return within(document.createElementNS(SVG, 'g'), name, attributes, children);
}

function within(place, name, attributes, children) {
  patch(place, h(name, attributes, children));
  return place.firstChild;
}

/** A colour of the style sheet: red, green and blue. */
function named(name) {
  const value = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  return [1, 3, 5].map((at) => parseInt(value.slice(at, at + 2), 16));
}

/** The colour of a magnitude in [0, 1]. */
export function share(value) {
  return Number.isNaN(value) ? 'none' : mixed('paper', 'ramp', value);
}

/** Orange below 0, blue above. */
export function signed(value, limit) {
  return mixed('paper', value < 0 ? 'against' : 'for', Math.abs(value) / (limit || 1));
}

function mixed(from, to, part) {
  const clipped = Math.max(0, Math.min(1, part));
  const end = named(to);
  return `rgb(${named(from).map((start, i) => Math.round(start + clipped * (end[i] - start))).join(',')})`;
}

/** A raster as a picture, for the href of an image: values (rows * columns) in [0, 1] to colours by `colour`. */
function raster(values, rows, columns, colour) {
  const canvas = document.createElement('canvas');
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext('2d');
  const image = context.createImageData(columns, rows);
  const table = Uint32Array.from(Array(257).keys(), (i) => {
    const [red, green, blue] = colour(i / 256).match(/\d+/g).map(Number);
    return new Uint32Array(Uint8Array.of(red, green, blue, 255).buffer)[0];
  });
  const pixels = new Uint32Array(image.data.buffer);
  for (let i = 0; i < rows * columns; i++) {
    if (!Number.isNaN(values[i])) pixels[i] = table[Math.round(256 * Math.max(0, Math.min(1, values[i])))];
  }
  context.putImageData(image, 0, 0);
  return canvas.toDataURL();
}

/** What colours stand for: a strip from the colour of 0 to that of 1 (or of `from` to `to`) between two labels. */
export function colourBar(low, high, colour, from = 0, to = 1) {
  const strip = svg('svg', {width: 120, height: 12, viewBox: '0 0 120 12', 'aria-hidden': 'true'});
  for (let i = 0; i < 40; i++) strip.append(svg('rect', {x: 3 * i, y: 0, width: 3.2, height: 12, fill: colour(from + ((to - from) * (i + 0.5)) / 40)}));
  return html('p', {class: 'colours'}, low, strip, high);
}

/** Calls `ask` once for each key, and keeps the last results. */
export function remembering(ask, most = 64) {
  const kept = new Map();
  return (...keys) => {
    const key = keys.join();
    if (!kept.has(key)) {
      const asked = ask(...keys);
      asked.catch(() => kept.delete(key));
      kept.set(key, asked);
      if (kept.size > most) kept.delete(kept.keys().next().value);
    }
    return kept.get(key);
  };
}

/** Colours of lines, which the style sheet names. */
export const LINES = [0, 1, 2, 3, 4, 5].map((i) => `var(--line-${i})`);

/** Lines over steps, with bands around them.
 * series: [{name, color, dashed, width, points: [[x, y], ...], band: [[x, low, high], ...]}]; options: width, height, label, x, y
 * (names of the axes), form (of the y axis), low and high (bounds that its quantity has), whole (integers only), wholeX,
 * names (of the places 0, 1, ... on the x axis), at (a step to mark; `mark` of the drawing moves it), onpick. */
export function lines(series, options) {
  const {width = 640, height = 260, form = 'linear'} = options;
  const left = 56, right = 12, top = 24, bottom = 36;
  const usable = (y) => y !== null && Number.isFinite(y) && (form !== 'logarithmic' || y > 0);
  const all = series.flatMap(({points}) => points).filter(([, y]) => usable(y));
  const root = svg('svg', {viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': options.label});
  const range = rangeOf(series.flatMap(({points, band = []}) => [...points.map(([, y]) => y), ...band.flatMap(([, ...ends]) => ends)]), {...options, form});
  if (!range) {
    root.append(svg('text', {x: width / 2, y: height / 2, 'text-anchor': 'middle'}, 'Nothing to draw.'));
    return root;
  }
  const x = scale(rangeOf(all.map(([at]) => at)), [left, width - right]);
  const y = scale(range, [height - bottom, top], form);
  for (const tick of y.ticks({whole: options.whole})) {
    root.append(svg('line', {x1: left, x2: width - right, y1: y(tick), y2: y(tick), class: 'grid'}),
      svg('text', {x: left - 6, y: y(tick) + 4, 'text-anchor': 'end'}, shown(tick)));
  }
  for (const [tick, label] of options.names ? spaced(options.names, x) : x.ticks({whole: options.wholeX}).map((one) => [one, shown(one)])) {
    const outside = x(tick) + 3.6 * label.length > width;
    root.append(svg('text', {x: outside ? width : x(tick), y: height - bottom + 16, 'text-anchor': outside ? 'end' : 'middle'}, label));
  }
  root.append(svg('text', {x: (left + width - right) / 2, y: height - 4, 'text-anchor': 'middle', class: 'axis'}, options.x),
    svg('text', {x: 0, y: 11, class: 'axis'}, options.y));
  const path = (points) => points.map(([a, b], i) => `${i ? 'L' : 'M'}${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join('');
  const bands = series.filter(({band}) => band?.length).length;
  for (const {band = [], color} of series) {
    const known = band.filter(([, low, high]) => usable(low) && usable(high));
    if (known.length > 1) root.append(svg('path', {d: `${path([...known.map(([a, , high]) => [a, high]), ...known.reverse().map(([a, low]) => [a, low])])}Z`, fill: color, class: 'band', opacity: Math.max(0.05, 0.25 - 0.03 * bands).toFixed(2)}));
  }
  for (const one of series) {
    const points = one.points.filter(([, value]) => usable(value));
    root.append(svg('path', {d: path(points), stroke: one.color, fill: 'none', 'stroke-width': one.width ?? 1.5, 'stroke-dasharray': one.dashed ? '5 4' : null}));
    if (points.length === 1) root.append(svg('circle', {cx: x(points[0][0]), cy: y(points[0][1]), r: 3, fill: one.color}));
  }
  if (options.at !== undefined) {
    const cursor = svg('path', {class: 'cursor'});
    root.mark = (at) => cursor.setAttribute('d', `M${x(at)} ${top}V${height - bottom}`);
    root.mark(options.at);
    root.append(cursor);
  }
  const steps = [...new Set(all.map(([a]) => a))];
  const nearest = (event) => {
    const box = root.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * width;
    return steps.reduce((best, step) => (Math.abs(x(step) - at) < Math.abs(x(best) - at) ? step : best));
  };
  root.append(svg('rect', {
    x: left, y: top, width: width - left - right, height: height - top - bottom, fill: 'transparent', class: options.onpick ? 'pick' : null,
    onclick: options.onpick ? (event) => options.onpick(nearest(event)) : null,
    onpointermove: (event) => {
      const step = nearest(event);
      const values = series.map(({name, points}) => [name, points.find(([a]) => a === step)?.[1]]).filter(([, value]) => usable(value ?? null));
      event.currentTarget.dataset.tip = `${options.x} ${options.names ? options.names[step] : shown(step)}\n${values.map(([name, value]) => `${name}: ${shown(value)}`).join('\n')}`;
    },
  }));
  return root;
}

/** A text of at most so many characters. */
export function cut(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

const LETTER = 7.2; // width of a digit, and of most letters
const EVERY = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000];

/** The places on an axis whose names have room, with these names, from the left; of numbers those of one distance, and of letters that
 * have no room their words. */
function spaced(names, x) {
  if (names.length > 1 && names.every((name, i) => Number(name) === Number(names[0]) + i)) {
    const room = LETTER * (Math.max(...names.map((name) => name.length)) + 1);
    const every = EVERY.find((one) => one * (x(1) - x(0)) >= room) ?? names.length;
    return [...names.keys()].filter((i) => every === 1 || Number(names[i]) % every === 0).map((i) => [i, names[i]]);
  }
  if (names.length > 1 && !blank(names) && x(1) - x(0) < LETTER + 0.5) {
    const starts = [...names.keys()].filter((i) => !isSpace(names[i]) && (i === 0 || isSpace(names[i - 1])));
    const word = (i) => names.slice(i, names.findIndex((name, j) => j > i && isSpace(name)) >>> 0).join('');
    const room = (i, next) => Math.floor((x(next ?? names.length - 1) - x(i)) / LETTER) - 1;
    return starts.map((i, w) => [i, word(i).slice(0, Math.max(0, room(i, starts[w + 1])))]).filter(([, text]) => text);
  }
  const kept = [];
  let end = -Infinity;
  names.forEach((name, i) => {
    const letters = cut(name, 10).length;
    const half = (LETTER / 2) * letters;
    if (x(i) - half < end) return;
    kept.push([i, cut(name, 10)]);
    end = x(i) + half + (letters > 1 ? 4 : 0.5);
  });
  return kept;
}

/** A map of numbers: a row for each of some names, a column for each of others.
 * options: width and height (at most), largest (side of a cell), label, parts (in [0, 1], row by row) or texts (instead of colours), colour,
 * tip(row, column), onpick(row, column), chosen ({row} or {column}).
 * @param {{width: number, height: number, largest: number, label: string, parts?: Float32Array, texts?: string[],
 *   colour: function(number): string, tip: function(number, number): string, onpick?: function(number, number): void,
 *   chosen?: {row?: number, column?: number}}} options */
export function heatMap(rows, columns, options) {
  const {width: most, height: tallest, largest, label, parts, texts, colour, tip, onpick = null, chosen = {}} = options;
  const room = (names, limit) => Math.min(limit, 12 + 7.2 * Math.max(...names.map((name) => name.length)));
  const left = room(rows, 110), above = 6, foot = 20;
  const wide = Math.max(3, Math.min(largest, (most - left - 8) / columns.length));
  const high = Math.max(3, Math.min(20, tallest / rows.length));
  const [across, down] = [columns.length * wide, rows.length * high];
  const [width, height] = [left + across + 8, above + down + foot];
  const root = svg('svg', {viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', style: 'max-width: none', 'aria-label': label});
  const box = {x: left, y: above, width: across, height: down};
  if (parts) root.append(svg('image', {...box, preserveAspectRatio: 'none', style: 'image-rendering: pixelated', href: raster(parts, rows.length, columns.length, colour)}));
  root.append(svg('rect', {...box, class: 'frame'}));
  const every = Math.max(1, Math.ceil(14 / high));
  rows.forEach((name, r) => r % every === 0 && root.append(svg('text', {x: left - 6, y: above + (r + 0.5) * high + 4, 'text-anchor': 'end'}, cut(name, Math.floor((left - 6) / 7)))));
  for (const [c, text] of spaced(columns, (at) => left + (at + 0.5) * wide)) root.append(svg('text', {x: left + (c + 0.5) * wide, y: height - 5, 'text-anchor': 'middle'}, text));
  (texts ?? []).forEach((text, c) => root.append(svg('text', {x: left + (c + 0.5) * wide, y: above + high / 2 + 4, 'text-anchor': 'middle'}, text)));
  const {row, column} = chosen;
  if (row !== undefined) root.append(svg('rect', {x: left, y: above + row * high, width: across, height: high, fill: 'none', class: 'chosen'}));
  if (column !== undefined) root.append(svg('rect', {x: left + column * wide, y: above, width: wide, height: down, fill: 'none', class: 'chosen'}));
  /** @returns {[number, number]} */
  const at = (event) => {
    const frame = root.getBoundingClientRect();
    const inside = (part, size, first, cell, count) => Math.max(0, Math.min(count - 1, Math.floor((part * size - first) / cell)));
    return [inside((event.clientY - frame.top) / frame.height, height, above, high, rows.length), inside((event.clientX - frame.left) / frame.width, width, left, wide, columns.length)];
  };
  root.append(svg('rect', {...box, class: `hit${onpick ? ' pick' : ''}`, onclick: onpick && ((event) => onpick(...at(event))),
    onpointermove: (event) => { event.currentTarget.dataset.tip = tip(...at(event)); }}));
  return html('div', {class: 'scroll'}, root);
}

export {shown};
