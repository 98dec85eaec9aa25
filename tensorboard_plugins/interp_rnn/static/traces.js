// Gates, states and whatever else a recurrent layer computes, token by token: a fold of Reads.

import {colourBar, heatMap, lines, LINES, remembering, share, shown, signed} from './charts.js';
import {blank} from './letters.js';
import {placeOf} from './outputs.js';
import {h} from './render.js';

const slices = new WeakMap(); // entry of a tag -> its sequences, asked for once
const read = new WeakMap(); // entry -> what was read last

const ON = 0.5; // of the largest size of a unit, above which it is on
const ASKED = 6; // units of a step that are looked for: those that are furthest on
const FOUND = 8; // steps that are listed
const AROUND = 6; // names before a step that is listed

/** What a unit does, in a sentence: its largest change in one step. */
function course(name, unit, values, names, noun) {
  const changes = values.slice(1).map((value, t) => value - values[t]);
  if (!changes.length) return `Unit ${unit} of ${name} was read once.`;
  const t = changes.reduce((best, change, i) => (Math.abs(change) > Math.abs(changes[best]) ? i : best), 0);
  if (!changes[t]) return `Unit ${unit} of ${name} does not change.`;
  return `Unit ${unit} of ${name} ${changes[t] < 0 ? 'falls' : 'rises'} most at ${placeOf(names, t + 1, noun)}, from ${shown(values[t])} to ${shown(values[t + 1])}.`;
}

/** The units that are on at a step, and the other steps, of all sequences that were traced, at which most of them are on. */
function found(page, {entry, series}, chosen, {names, noun, first, units, values}, repaint) {
  if (chosen === null) return h('p', {class: 'note', key: 'found'}, `Click a ${noun} of the chart for the units that are on there.`);
  const largest = [...Array(units).keys()].map((unit) => Math.max(...values.map((row) => Math.abs(row[unit]))));
  const strength = (row, unit) => (largest[unit] ? row[unit] / largest[unit] : 0);
  const on = [...Array(units).keys()].filter((unit) => Math.abs(strength(values[chosen], unit)) >= ON)
    .sort((a, b) => Math.abs(strength(values[chosen], b)) - Math.abs(strength(values[chosen], a))).slice(0, ASKED);
  const here = placeOf(names, chosen, noun);
  const key = `${series.steps} ${page.state.step} ${chosen} ${on}`;
  const search = async () => {
    const rows = await Promise.all([...Array(series.shapes[0][0]).keys()].map((index) => page.part(entry, page.state.step, index)));
    const places = rows.flatMap(({values: numbers, shape: [time, entries]}, row) => [...Array(time).keys()].map((t) => {
      const there = on.filter((unit) => Math.sign(numbers[t * entries + first + unit]) === Math.sign(values[chosen][unit]) && Math.abs(numbers[t * entries + first + unit]) >= ON * largest[unit]);
      return {row, t, count: there.length};
    }));
    page.state.places = {key, list: places.filter(({count}) => count).sort((a, b) => b.count - a.count).slice(0, FOUND + 1)};
    repaint();
  };
  const known = page.state.places?.key === key ? page.state.places.list : null;
  const text = ({row, t}) => (series.tokens[row]?.length ? series.tokens[row].slice(Math.max(0, t - AROUND), t + 1).join(blank(series.tokens[row])) : `step ${t + 1}`);
  return h('section', {class: 'panel', key: 'found'},
    h('h3', {}, on.length ? `On at ${here}, at half of their largest size or more: units ${on.join(', ')}` : `At ${here} no unit is at half of its largest size`),
    on.length ? h('button', {type: 'button', onclick: search}, 'Find where these units are on') : null,
    known && h('ol', {}, known.slice(0, FOUND).map((place) => h('li', {key: `${place.row} ${place.t}`}, `${place.count} of ${on.length}: “${text(place)}”${series.shapes[0][0] > 1 ? `, sequence ${place.row + 1}` : ''}, step ${place.t + 1}`))),
    known?.length > FOUND ? h('p', {class: 'note'}, 'There are more; these have the most of them on.') : null);
}

/** The fold of one sequence: maps of all units, those that change most first, and the lines of the chosen one. */
export function traceFold(page, trace, width, repaint) {
  const {entry, row} = trace;
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
    known ? inside(known.slice, trace, page, width, repaint) : h('p', {class: 'loading'}, 'Reading …'));
}

function inside({values, shape: [time, entries]}, trace, page, width, repaint) {
  const {row, series: {quantities, tokens, vectors}} = trace;
  const {state} = page;
  const first = quantities.reduce((all, [, count]) => [...all, all[all.length - 1] + count], [0]);
  const at = (q, unit, t) => values[t * entries + first[q] + unit];
  const steps = [...Array(time).keys()].filter((t) => !quantities.every((_, q) => Number.isNaN(at(q, 0, t))));
  const names = steps.map((t) => tokens[row]?.[t] ?? String(t + 1));
  const noun = tokens[row]?.length && !vectors ? 'token' : 'step';
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
  const chosen = state.at >= 0 && state.at < steps.length ? state.at : null; // a step, whose units are looked for
  const look = (i) => ({color: LINES[i % LINES.length], dashed: i >= LINES.length});
  return [
    h('p', {class: 'headline', key: 'headline'}, course(quantities[main][0], unit, steps.map((t) => at(main, unit, t)), names, noun)),
    h('div', {class: 'controls'}, h('label', {}, 'Unit ', h('select', {value: String(unit), onchange: (event) => choose(Number(event.target.value))},
      order.map((one) => h('option', {key: one, value: String(one)}, String(one))))), h('span', {class: 'note'}, 'Those whose state changes most stand first.'),
    drawn.map(({name}, i) => h('span', {key: name, class: 'legend'}, h('span', {class: 'key', style: `background: ${look(i).color}; opacity: ${look(i).dashed ? 0.5 : 1}`}), name))),
    lines(drawn.map(({name, q}, i) => ({name, ...look(i), points: steps.map((t, place) => [place, at(q, unit, t)])})), {
      x: noun, y: 'value', names, width: Math.max(280, width), height: 220, label: `gates and states of unit ${unit} over the ${noun}s`,
      at: chosen ?? undefined, onpick: (place) => {
        state.at = place;
        page.remember();
        repaint();
      },
    }),
    found(page, trace, chosen, {names, noun, first: first[main], units, values: steps.map((t) => [...Array(units).keys()].map((one) => at(main, one, t)))}, repaint),
    page.downloads((at) => at.closest('details').querySelector('svg'), () => rows(names, steps, quantities, at, noun), {file: `trace ${names.join(blank(names))}`}),
    h('div', {class: 'maps'}, quantities.map(([name, count], q) => h('figure', {key: name},
      mapOf(name, count === units ? order : [...Array(count).keys()], steps.map((t) => (i) => at(q, i, t)), names, {
        chosen: unit, width: quantities.length === 1 ? width : Math.min(width, 520), onpick: count === units ? choose : null, noun, place: (t) => `after ${placeOf(names, t, noun)}`,
      })))),
  ];
}

function rows(names, steps, quantities, at, noun) {
  return [['index', 'position', noun, 'quantity', 'unit', 'value'], ...steps.flatMap((t, i) => quantities.flatMap(([name, count], q) =>
    [...Array(count).keys()].map((unit) => [t, t + 1, names[i], name, unit, at(q, unit, t)])))];
}

/** The name of a row: the index of a unit; features count from 1. */
const nameOf = (row, i) => String(row === 'unit' ? i : i + 1);

/** A map of one quantity: a row for each of its units, a column for each token.
 * order: the units, from 0; columns: the value of a unit at each token; names: of the tokens, each a `noun`; options: width, chosen
 * (a unit), onpick(unit), row (what a unit is called), rows (names of the units), place(t), both (whether it has both signs), format (of a value). */
export function mapOf(name, order, columns, names, {width, noun, place, chosen = null, onpick = null, row = 'unit', rows = null, both = false, format = shown}) {
  const called = (unit) => rows?.[unit] ?? nameOf(row, unit);
  const cells = Float32Array.from(order.flatMap((unit) => columns.map((column) => column(unit))));
  const known = cells.filter((number) => !Number.isNaN(number));
  const [low, top] = [known.reduce((a, b) => Math.min(a, b), 0), known.reduce((a, b) => Math.max(a, b), 0)];
  const limit = Math.max(-low, top) || 1;
  const whole = name.endsWith('centroid');
  const gate = low >= 0 && !both;
  const colour = gate ? share : (part) => signed(2 * part - 1, 1);
  const counted = (number, one, several) => `${number} ${number === 1 ? one : several}`;
  return [h('figcaption', {}, h('b', {}, name), row === 'unit' ? '' : `: a row for each ${row}, a column for each ${noun}`), heatMap(order.map(called), names, {
    width, height: 300, largest: 44, colour, chosen: onpick ? {row: order.indexOf(chosen)} : {}, onpick: onpick && ((i) => onpick(order[i])),
    label: `${name}: ${row === 'unit' ? counted(order.length, 'entry', 'entries') : counted(order.length, row, `${row}s`)} at ${counted(names.length, noun, `${noun}s`)}, from ${format(low)} to ${format(top)}`,
    parts: whole ? null : cells.map((number) => (gate ? number / limit : 0.5 + number / (2 * limit))),
    texts: whole ? [...cells].map((number) => (Number.isNaN(number) ? '–' : shown(number))) : null,
    tip: (i, t) => `${name}, ${row} ${called(order[i])}, ${place(t)}: ${format(columns[t](order[i]))}`,
  }), whole ? null : colourBar(gate ? '0' : `−${format(limit)}`, format(limit), colour)];
}
