// A text with bars standing on its tokens, up for the first of two outputs and down for the second, and beside it the most
// probable outputs.

import {fromTheRight, isSpace, shortened, single, spoken} from './letters.js';
import {h} from './render.js';
import {percent} from './scales.js';

/** Tokens up to which type has a size, and the tallest bar its height. */
const SIZES = [[60, 22, 92], [240, 17, 52], [Infinity, 14, 34]];
const MONO = "'Roboto Mono', ui-monospace, 'DejaVu Sans Mono', monospace";
export const SANS = "Roboto, 'Helvetica Neue', Arial, system-ui, sans-serif";
const FOLDED = 8; // lines, above which those that matter little are folded
const MATTERS = 0.12; // of the largest bar
const LABELS = 8; // where not all have room
const VISIBLE = 0.7; // height of the lowest bar that is drawn
const SEEN = 1; // half of the height of the smallest interval that is drawn
const LETTER = 7.2; // width of a letter of a label
const RAISED = 13; // height of a label
const BESIDE = 230; // width of the outputs beside a text
const BASE = 64; // width of the bar of what no token gives
const GAP = 4; // between labels
const NARROW = {22: 34, 17: 30, 14: 20}; // least width of a word, by the size of its type
const PADDING = 8; // of a word, on both sides of its bar

let pen = null;

export function widthOf(text, font) {
  pen ??= document.createElement('canvas').getContext('2d');
  pen.font = font;
  return pen.measureText(text).width;
}

/** The drawing, a description.
 * tokens: [{name, value (null for none), margin (of its interval; 0 for none), says, off (whether it was not read)}];
 * options: width, picked, onpick(i), onfocus(i), format (of a value), noun (what a token is called), outputs (`outcomes`), opened
 * (a set of lines that were unfolded), onopen(line), base ({name, value, says} of what no token gives), floor (least value of the
 * tallest bar). */
export function strip(tokens, options) {
  const {width, outputs = [], format, noun = 'token', floor = 0, base: start = null} = options;
  const wideEnough = outputs.length && width >= 720;
  const [, size, tall] = SIZES.find(([most]) => tokens.length <= most);
  const letters = tokens.every(({name}) => single(name));
  const numbered = tokens.map(({value}) => format(value ?? 0));
  const label = LETTER * Math.max(...numbered.map((text) => text.length)) + GAP;
  const room = label * tokens.length <= (wideEnough ? width - BESIDE : width); // for every label
  const look = {size, tall, letters, label: room ? label : 0, font: `${size}px ${letters ? MONO : SANS}`, start, turned: fromTheRight(tokens.map(({name}) => name)),
    limit: Math.max(floor, Math.abs(start?.value ?? 0), ...tokens.map(({value, margin = 0}) => Math.abs(value ?? 0) + margin), 1e-9)};
  const labelled = new Set(room ? [...tokens.keys()].filter((i) => reach(tokens[i].value, look) >= VISIBLE) : [...tokens.keys()].filter((i) => Math.abs(tokens[i].value ?? 0) > 0.15 * look.limit)
    .sort((a, b) => Math.abs(tokens[b].value) - Math.abs(tokens[a].value)).slice(0, LABELS));
  const beside = wideEnough && !(wrapped(tokens, width - BESIDE, look).length > 1 && wrapped(tokens, width, look).length === 1); // or below, if the text then fits a line
  const across = beside ? width - BESIDE : width;
  const lines = wrapped(tokens, across, look);
  const labels = lines.map((line) => spaced(line, tokens, look, labelled, format));
  const parts = [];
  let y = 4;
  if (lines.length > FOLDED) {
    parts.push(brush(tokens, lines, across, look, options));
    y += 40;
  }
  for (const piece of folded(lines, tokens, look, options)) {
    const drawn = piece.line ? drawLine(piece.line, tokens, y, look, labels[piece.line.index], across, options) : drawFold(piece, tokens, y, across, options);
    parts.push(drawn.part);
    y = drawn.end;
  }
  const [first] = lines;
  const text = base(first, tokens, 4, look, labels[0]);
  const short = beside && lines.length === 1 && !look.turned;
  const end = short ? first.places[first.places.length - 1][1] + first.places[first.places.length - 1][2] + 12 : across + 16;
  if (short) parts.push(h('text', {key: 'arrow', x: end, y: text + size * 0.9, class: 'faint', style: `font: ${size}px ${SANS}`}, '→'));
  const column = outcomes(outputs, beside ? end + (short ? 34 : 0) : 0, beside ? Math.max(4, short ? text - 12 : 8) : y + 14);
  const height = Math.ceil(Math.max(y, column.end) + 6);
  return h('svg', {viewBox: `0 0 ${Math.ceil(width)} ${height}`, width: Math.ceil(width), height, class: 'strip', role: 'group',
    'aria-label': `${tokens.length} ${noun}s with a bar each${outputs.length ? ', and the most probable outputs' : ''}`, onkeydown: onArrow}, parts, column.part);
}

/** The lines of a text: first and last token, and of each token [number, left, width]. */
function wrapped(tokens, across, {letters, size, font, label, start: begun, turned}) {
  const narrow = Math.ceil(widthOf('m', font)) + (size > 15 ? 8 : 3);
  const cell = size > 20 ? Math.max(narrow, label, Math.min(1.7 * size, (across - (begun ? BASE : 0)) / tokens.length)) : narrow; // a short text fills its line
  const lines = [];
  let at = begun ? BASE : 0, start = 0, places = [];
  const finish = (next) => {
    lines.push({index: lines.length, places: turned ? places.map(([i, x, wide]) => [i, across - x - wide, wide]) : places});
    [at, places, start] = [0, [], next];
  };
  for (let i = 0; i < tokens.length; i++) {
    const wide = letters ? cell : Math.min(across, Math.max(NARROW[size], label, Math.ceil(widthOf(tokens[i].name, font)) + 10));
    if (at + wide > across + 0.01 && places.length) { // a sum of parts of the width
      const space = letters ? places.findLastIndex(([j]) => isSpace(tokens[j].name)) : -1;
      if (space > places.length / 2 && !isSpace(tokens[i].name)) { // a word begins on the next line
        places.length = space + 1;
        i = start + space + 1;
      }
      finish(i);
    }
    places.push([i, at, wide]);
    at += wide;
  }
  finish(tokens.length);
  return lines;
}

const reach = (value, {limit, tall}) => (Math.abs(value ?? 0) / limit) * tall;

/** How high a token's bar is with its interval, on its own side of the text. */
const peak = ({value, margin = 0}, look) => reach(Math.abs(value ?? 0) + margin, look);

/** How far the interval of a token is on the other side of the text. */
const beyond = ({value, margin = 0}, look) => reach(Math.max(0, margin - Math.abs(value ?? 0)), look);

/** How far the bars of a line reach up and down, labels included. */
function span(line, tokens, look, labels) {
  const start = line.index === 0 ? look.start?.value ?? 0 : 0;
  const side = (sign) => Math.max(2, sign * start > 0 ? reach(start, look) + 15 : 0, ...line.places.filter(([i]) => sign * (tokens[i].value ?? 0) > 0)
    .map(([i]) => peak(tokens[i], look) + (labels.has(i) ? 15 + labels.get(i).raised : 0)), ...line.places.filter(([i]) => sign * (tokens[i].value ?? 0) < 0).map(([i]) => beyond(tokens[i], look)));
  return [side(1), side(-1)];
}

/** Where the tokens of a line begin, below its upward bars. */
function base(line, tokens, top, look, labels) {
  return top + span(line, tokens, look, labels)[0] + 3;
}

function drawLine(line, tokens, top, look, labels, across, {picked, onpick, onfocus, format, noun}) {
  const {size, letters} = look;
  const [, down] = span(line, tokens, look, labels);
  const text = base(line, tokens, top, look, labels);
  const below = text + size * 1.25 + 3;
  const current = picked ?? tokens.length - 1;
  const part = h('g', {key: `line ${line.index}`}, line.index === 0 && look.start ? drawBase(look.start, look.turned ? across : null, text, below, look, format) : null, line.places.map(([i, x, wide]) => {
    const {name, value, says, off} = tokens[i];
    const tip = `${noun === 'step' ? `step ${name}` : spoken(name)}: ${says}`;
    const high = reach(value, look);
    const far = peak(tokens[i], look);
    const above = value > 0;
    const bar = letters ? Math.max(1, wide - 2) : NARROW[size] - PADDING; // of one width, so that long words weigh no more
    const box = {x: x + (wide - bar) / 2, width: bar, y: above ? text - 3 - high : below, height: Math.max(0.5, high), rx: 2};
    return h('g', {key: i, class: `token${i === picked ? ' picked' : ''}${off ? ' off' : ''}`, role: onpick ? 'button' : 'img', tabindex: i === current ? 0 : -1,
      'data-token': i, 'data-tip': tip, 'aria-label': tip, 'aria-pressed': onpick ? String(i === picked) : null,
      onfocus: onfocus ? () => onfocus(i) : null, onclick: onpick ? () => onpick(i) : null, onkeydown: onpick ? (event) => press(event, () => onpick(i)) : null},
    h('rect', {x, y: top, width: wide, height: below + down - top, class: 'hit'}),
    high >= VISIBLE ? h('rect', {...box, class: above ? 'for' : 'against', opacity: (tokens[i].margin > Math.abs(value) ? 0.2 : 0.35 + 0.65 * (high / look.tall)).toFixed(2)}) : null,
    reach(tokens[i].margin, look) >= SEEN && (look.size > 20 || tokens[i].margin < Math.abs(value ?? 0)) ? h('path', {class: 'interval', d: interval(x + wide / 2, tokens[i], look, text - 3, below)}) : null,
    h('text', {x: x + wide / 2, y: text + size, 'text-anchor': 'middle', class: `${isSpace(name) ? 'faint ' : ''}name`, style: `font: ${look.font}`,
      textLength: !letters && widthOf(name, look.font) > wide - 4 ? wide - 8 : null, lengthAdjust: 'spacingAndGlyphs'}, name),
    labels.has(i) ? h('text', {key: 'value', x: labels.get(i).middle, y: above ? text - 7 - far - labels.get(i).raised : below + far + 12 + labels.get(i).raised, 'text-anchor': 'middle', class: `value ${above ? 'for' : 'against'}`}, format(value)) : null);
  }));
  return {part, end: below + down + (look.tall > 60 ? 12 : 6)};
}

/** What no token gives, as an outlined bar before the first one; right: the end of a line that begins there, or null. */
function drawBase({name, value, says}, right, text, below, look, format) {
  const high = reach(value, look);
  const above = value > 0;
  const middle = right === null ? (BASE - 12) / 2 : right - (BASE - 12) / 2;
  const bar = NARROW[look.size] - PADDING;
  return h('g', {key: 'base', class: 'base', role: 'img', 'aria-label': says, 'data-tip': says},
    h('rect', {x: middle - bar / 2, width: bar, y: above ? text - 3 - high : below, height: Math.max(0.5, high), rx: 2, class: 'base'}),
    h('text', {x: middle, y: text + look.size, 'text-anchor': 'middle', class: 'faint', style: `font: italic 13px ${SANS}`}, name),
    h('text', {key: 'value', x: middle, y: above ? text - 7 - high : below + high + 12, 'text-anchor': 'middle', class: 'value'}, format(value)));
}

/** The interval of a token, from end to end with a bar across each, interrupted by the text. */
function interval(x, token, look, above, below) {
  const up = token.value > 0;
  const side = (from, to) => `M${(x - 3).toFixed(1)} ${to.toFixed(1)}h6m-3 0V${from.toFixed(1)}`;
  const at = (far, onTop) => (onTop ? above - far : below + far);
  const [far, over] = [peak(token, look), beyond(token, look)];
  const near = reach(Math.max(0, Math.abs(token.value ?? 0) - token.margin), look);
  return `${side(at(near, up), at(far, up))}${over ? side(at(0, !up), at(over, !up)) : `M${(x - 3).toFixed(1)} ${at(near, up).toFixed(1)}h6`}`;
}

/** The labels of those tokens of a line whose labels have room, the largest first: their middles, and by how much they are raised
 * above others of the same height. Over letters, which are narrow, none is: it would seem to be the number of a neighbour. */
function spaced(line, tokens, look, labelled, format) {
  const boxes = [];
  const labels = new Map();
  const largest = line.places.filter(([i]) => labelled.has(i)).sort((a, b) => Math.abs(tokens[b[0]].value) - Math.abs(tokens[a[0]].value));
  const bars = line.places.map(([i, x, wide]) => ({i, sign: Math.sign(tokens[i].value ?? 0), from: x, to: x + wide, high: peak(tokens[i], look)}));
  for (const [i, x, wide] of largest) {
    const half = (LETTER / 2) * format(tokens[i].value).length;
    const middle = Math.max(half, x + wide / 2); // within the drawing
    const box = {sign: Math.sign(tokens[i].value), from: middle - half - GAP / 2, to: middle + half + GAP / 2, high: peak(tokens[i], look)};
    const meets = (other) => other.sign === box.sign && other.from < box.to && other.to > box.from;
    const beside = Math.max(0, ...bars.filter((bar) => bar.i !== i && meets(bar)).map((bar) => bar.high - box.high));
    if (beside > 0.75 * RAISED) continue; // it would seem to be the number of that bar
    const raised = (look.letters ? [0] : [0, RAISED, 2 * RAISED]).find((by) => by >= beside && boxes.every((other) => !meets(other) || Math.abs(other.high - box.high - by) >= RAISED));
    if (raised === undefined) continue;
    boxes.push({...box, high: box.high + raised});
    labels.set(i, {middle, raised});
  }
  return labels;
}

/** Lines to be drawn, and runs of lines to be folded: of a long text those where nothing matters. */
function folded(lines, tokens, look, {picked, opened = new Set()}) {
  if (lines.length <= FOLDED) return lines.map((line) => ({line}));
  const last = lines.length - 1;
  const strength = (line) => Math.max(...line.places.map(([i]) => Math.abs(tokens[i].value ?? 0)));
  const inSight = (line) => line.index === last || opened.has(line.index) || line.places.some(([i]) => i === picked) || strength(line) > MATTERS * look.limit;
  const pieces = [];
  for (const line of lines) {
    const before = pieces[pieces.length - 1];
    if (inSight(line)) pieces.push({line});
    else if (before?.fold) before.fold.push(line);
    else pieces.push({fold: [line]});
  }
  return pieces;
}

function drawFold({fold}, tokens, top, across, {onopen, format, noun = 'token'}) {
  const inside = fold.flatMap(({places}) => places.map(([i]) => tokens[i]));
  const sum = inside.reduce((total, {value}) => total + (value ?? 0), 0);
  const open = () => onopen(fold.map(({index}) => index));
  return {end: top + 28, part: h('g', {key: `fold ${fold[0].index}`, class: 'fold', role: 'button', tabindex: 0, 'aria-label': `show ${inside.length} ${noun}s, together ${format(sum)}`,
    onclick: open, onkeydown: (event) => press(event, open)},
  h('rect', {x: 0, y: top, width: across, height: 22, rx: 4}),
  h('text', {x: 8, y: top + 15}, `⋯ ${inside.length} ${noun}s that matter little, together ${format(sum)}`))};
}

/** The whole text in one line of bars; a click unfolds the lines there. */
function brush(tokens, lines, across, look, {onopen, noun = 'token'}) {
  const bins = Math.min(tokens.length, Math.floor(across / 3));
  const wide = across / bins;
  const bars = [...Array(bins).keys()].map((bin) => {
    const inside = tokens.slice(Math.floor((bin * tokens.length) / bins), Math.floor(((bin + 1) * tokens.length) / bins));
    return inside.reduce((most, {value}) => (Math.abs(value ?? 0) > Math.abs(most) ? value : most), 0);
  });
  const path = (sign) => bars.map((value, bin) => (sign * value > 0 ? `M${(bin * wide).toFixed(1)} 16v${((-value / look.limit) * 14).toFixed(1)}h${(0.8 * wide).toFixed(1)}V16z` : '')).join('');
  const open = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    const token = Math.min(tokens.length - 1, Math.floor(((event.clientX - box.left) / box.width) * tokens.length));
    onopen([lines.find(({places}) => places[places.length - 1][0] >= token).index]);
  };
  return h('g', {key: 'brush', class: 'brush'}, h('path', {d: path(1), class: 'for'}), h('path', {d: path(-1), class: 'against'}),
    h('line', {x1: 0, x2: across, y1: 16, y2: 16, class: 'grid'}),
    h('rect', {x: 0, y: 0, width: across, height: 32, class: 'hit', 'data-tip': `All ${noun}s; click to unfold a place`, onclick: open}));
}

/** The name of an output once its index has been said: "output 4" of "output 4 (index 3)". */
export const brief = (name) => name.replace(/^(output \d+) \(index \d+\)$/, '$1');

/** The most probable outputs: [{name, part (probability, null for a single output), text, look: for, against or null}]. */
function outcomes(outputs, x, y) {
  if (!outputs.length) return {part: null, end: 0};
  const short = (name) => shortened(brief(name), 11);
  const left = x + Math.max(24, ...outputs.map(({name}) => widthOf(short(name), `600 16px ${MONO}`) + 8));
  const part = h('g', {key: 'outputs', role: 'list', 'aria-label': 'the most probable outputs'}, outputs.map(({name, part: share, look}, i) => {
    const bar = Math.max(1, (x + BESIDE - 94 - left) * share);
    return h('g', {key: name, role: 'listitem', 'data-tip': `${name}: ${percent(share, 2)}`},
      h('text', {x, y: y + 24 * i + 13, class: `${look ?? 'faint'} output`, style: `font: 600 16px ${MONO}`}, short(name)),
      h('rect', {x: left, y: y + 24 * i + 2, width: bar, height: 13, rx: 2, class: look ?? 'other'}),
      h('text', {x: left + bar + 6, y: y + 24 * i + 13}, percent(share, share > 0.995 || share < 0.005 ? 1 : 0)));
  }));
  return {part, end: y + 24 * outputs.length};
}

function press(event, act) {
  if (!['Enter', ' '].includes(event.key)) return;
  event.preventDefault();
  act();
}

/** Arrow keys go from token to token: a text is one stop of the tab key. */
function onArrow(event) {
  const from = event.target.closest('[data-token]');
  const by = {ArrowLeft: -1, ArrowRight: 1}[event.key];
  if (!from || !by) return;
  const to = event.currentTarget.querySelector(`[data-token="${Number(from.dataset.token) + by}"]`);
  if (!to) return;
  event.preventDefault();
  from.setAttribute('tabindex', -1);
  to.setAttribute('tabindex', 0);
  to.focus();
}
