// Gates, states and whatever else a recurrent layer computes, token by token: a fold of Reads.

import {colourBar, cut, lines, LINES, raster, remembering, share, shown, signed, svg} from './charts.js';
import {h} from './render.js';

const slices = new WeakMap(); // entry of a tag -> its sequences, asked for once
const read = new WeakMap(); // entry -> what was read last

/** The fold of one sequence: maps of all units, those that change most first, and the lines of the chosen one. */
export function traceFold(page, trace, width, repaint) {
  const {entry, series, row} = trace;
  const {state} = page;
  if (!slices.has(entry)) slices.set(entry, remembering((step, index) => page.part(entry, step, index), 16));
  const wanted = `${state.step} ${row}`;
  if (read.get(entry)?.wanted !== wanted) {
    slices.get(entry)(state.step, row).then((slice) => {
      read.set(entry, {wanted, slice});
      repaint();
    }, () => {});
  }
  const known = read.get(entry);
  return h('details', {key: 'trace', open: page.entries.every(({kind}) => kind === 'trace')}, h('summary', {}, 'Gates and states'),
    known ? inside(known.slice, series, row, page, width, repaint) : h('p', {class: 'loading'}, 'Reading …'));
}

function inside({values, shape: [time, entries]}, {quantities, tokens}, row, page, width, repaint) {
  const {state} = page;
  const first = quantities.reduce((all, [, count]) => [...all, all[all.length - 1] + count], [0]);
  const at = (q, unit, t) => values[t * entries + first[q] + unit];
  const steps = [...Array(time).keys()].filter((t) => !quantities.every((_, q) => Number.isNaN(at(q, 0, t))));
  const names = steps.map((t) => tokens[row]?.[t] ?? String(t + 1));
  const main = Math.max(0, quantities.findIndex(([name]) => name.split('/').pop() === 'h'));
  const units = quantities[main][1];
  const change = (unit) => steps.slice(1).reduce((sum, t, i) => sum + Math.abs(at(main, unit, t) - at(main, unit, steps[i])), 0);
  const order = [...Array(units).keys()].sort((a, b) => change(b) - change(a));
  const unit = Number.isInteger(state.unit) && state.unit >= 0 && state.unit < units ? state.unit : order[0];
  const choose = (value) => {
    state.unit = value;
    page.remember();
    repaint();
  };
  const drawn = quantities.map(([name, count], q) => ({name, count, q})).filter(({count}) => count === units);
  const look = (i) => ({color: LINES[i % LINES.length], dashed: i >= LINES.length});
  return [
    h('div', {class: 'controls'}, h('label', {}, 'Unit ', h('select', {value: String(unit), onchange: (event) => choose(Number(event.target.value))},
      order.map((one) => h('option', {key: one, value: String(one)}, `${one + 1}`)))), h('span', {class: 'note'}, 'Those whose state changes most stand first.'),
    drawn.map(({name}, i) => h('span', {key: name, class: 'legend'}, h('span', {class: 'key', style: `background: ${look(i).color}; opacity: ${look(i).dashed ? 0.5 : 1}`}), name))),
    lines(drawn.map(({name, q}, i) => ({name, ...look(i), points: steps.map((t, place) => [place, at(q, unit, t)])})), {
      x: 'token', y: 'value', names, width: Math.max(280, width), height: 220, label: `gates and states of unit ${unit + 1} over the tokens`,
    }),
    page.downloads((at) => at.closest('details').querySelector('svg'), () => rows(names, steps, quantities, at), 'traces'),
    h('div', {class: 'maps'}, quantities.map(([name, count], q) => h('figure', {key: name},
      map(name, count === units ? order : [...Array(count).keys()], steps.map((t) => (i) => at(q, i, t)), names, unit, Math.min(width, 520), count === units ? choose : null)))),
  ];
}

function rows(names, steps, quantities, at) {
  return [['position', 'token', 'quantity', 'unit', 'value'], ...steps.flatMap((t, i) => quantities.flatMap(([name, count], q) =>
    [...Array(count).keys()].map((unit) => [t + 1, names[i], name, unit + 1, at(q, unit, t)])))];
}

/** A map of one quantity: a row for each of its units, a column for each token. */
function map(name, order, columns, names, chosen, available, onpick) {
  const left = 44, foot = 16, above = 6;
  const wide = Math.max(4, Math.min(44, (available - left - 4) / Math.max(1, names.length)));
  const high = Math.max(4, Math.min(20, 300 / order.length));
  const [width, height] = [left + names.length * wide + 4, order.length * high + foot];
  const cells = Float32Array.from(order.flatMap((unit) => columns.map((column) => column(unit))));
  const known = cells.filter((number) => !Number.isNaN(number));
  const [low, top] = [known.reduce((a, b) => Math.min(a, b), 0), known.reduce((a, b) => Math.max(a, b), 0)];
  const limit = Math.max(-low, top) || 1;
  const whole = name.endsWith('centroid');
  const gate = low >= 0;
  const colour = gate ? share : (part) => signed(2 * part - 1, 1);
  const root = svg('svg', {viewBox: `0 ${-above} ${width} ${height + above}`, width, height: height + above, role: 'img', style: 'max-width: none',
    'aria-label': `${name}: ${order.length} ${order.length === 1 ? 'entry' : 'entries'} at ${names.length} tokens, from ${shown(low)} to ${shown(top)}`});
  if (!whole) {
    root.append(svg('image', {x: left, y: 0, width: names.length * wide, height: order.length * high, preserveAspectRatio: 'none', style: 'image-rendering: pixelated',
      href: raster(cells.map((number) => (gate ? number / limit : 0.5 + number / (2 * limit))), order.length, names.length, colour)}));
  }
  root.append(svg('rect', {x: left, y: 0.5, width: names.length * wide, height: order.length * high, class: 'frame'}));
  const every = Math.max(1, Math.ceil(13 / high));
  for (let i = 0; i < order.length; i += every) root.append(svg('text', {x: left - 8, y: (i + 0.5) * high + 4, 'text-anchor': 'end'}, String(order[i] + 1)));
  let end = -Infinity;
  names.forEach((token, column) => {
    const at = left + (column + 0.5) * wide;
    if (whole) root.append(svg('text', {x: at, y: high / 2 + 4, 'text-anchor': 'middle'}, Number.isNaN(cells[column]) ? '–' : shown(cells[column])));
    const label = cut(token, 8);
    if (at - 3.6 * label.length < end || at + 3.6 * label.length > width + 6) return;
    end = at + 3.6 * label.length + 3;
    root.append(svg('text', {x: at, y: height - 3, 'text-anchor': 'middle'}, label));
  });
  if (onpick) root.append(svg('rect', {x: left - 2, y: order.indexOf(chosen) * high, width: names.length * wide + 3, height: high, fill: 'none', class: 'chosen'}));
  const place = (event) => {
    const box = root.getBoundingClientRect();
    const column = Math.floor((((event.clientX - box.left) / box.width) * width - left) / wide);
    const row = Math.floor((((event.clientY - box.top) / box.height) * (height + above) - above) / high);
    return [Math.max(0, Math.min(names.length - 1, column)), Math.max(0, Math.min(order.length - 1, row))];
  };
  root.append(svg('rect', {x: left, y: 0, width: names.length * wide, height: order.length * high, class: `hit${onpick ? ' pick' : ''}`,
    onclick: onpick && ((event) => onpick(order[place(event)[1]])),
    onpointermove: (event) => {
      const [column, i] = place(event);
      event.currentTarget.dataset.tip = `${name}, unit ${order[i] + 1}, after “${names[column]}”: ${shown(columns[column](order[i]))}`;
    }}));
  return [h('figcaption', {}, h('b', {}, name)), h('div', {class: 'scroll'}, root), whole ? null : colourBar(gate ? '0' : `−${shown(limit)}`, shown(limit), colour)];
}
