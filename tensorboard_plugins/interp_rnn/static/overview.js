// All runs: a card each, with a sentence computed from its logs and the place that shows more; of many a line each of a table.

import {isolated} from './letters.js';
import {quoted} from './outputs.js';
import {h, patch} from './render.js';
import {column, percent} from './scales.js';
import {logging} from './texts.js';

export const title = 'Overview';
export const about = 'What every run says, in a sentence.';
export const example = logging;

const DRAWN = 6; // runs with a card each
const BARS = 480; // width of those of a line
const GROUPS = 12; // most groups of runs

export async function draw(body, page) {
  const {state} = page;
  const found = new Map();
  const few = page.runs.length <= DRAWN;
  const width = Math.max(260, Math.min(page.width() - 34, 1000));
  const losses = await page.losses();
  if (!page.current()) return;
  const places = Object.entries(page.places).filter(([, {card}]) => card);
  const paint = () => patch(body, few ? page.runs.map(({name}) => h('section', {class: 'card', key: name, 'data-run': name}, drawn(name))) : table());

  function drawn(name) {
    const cards = found.get(name);
    if (!cards) return h('p', {class: 'loading'}, `Reading ${name} …`);
    if (!cards.length) return [h('h2', {class: 'headline'}, name), h('p', {class: 'note'}, 'Nothing of it can be drawn.')];
    return cards.map(({place, sentence, drawing, unit}, i) => h('div', {key: place},
      h(i ? 'h3' : 'h2', {class: 'headline'}, sentence),
      drawing ? h('figure', {}, drawing(width, scaleOf(place, unit))) : null,
      opening(name, place, `${page.places[place].title} ▸`, `${page.places[place].title} of ${name}`)));
  }

  const opening = (name, place, text, label = null) => h('button', {type: 'button', class: 'more', 'aria-label': label, onclick: () => page.go({place, run: name})}, text);

  /** The largest bar of all runs whose bars have this unit: one scale for all. */
  const scaleOf = (place, unit) => Math.max(0, ...[...found.values()].flat().filter((card) => card.place === place && card.unit === unit).map(({largest}) => largest ?? 0));

  const cardOf = (name, place) => found.get(name)?.find((card) => card.place === place);
  const shortOf = (name, place) => cardOf(name, place)?.short ?? '';
  const sureOf = (name) => found.get(name)?.find(({sure}) => typeof sure === 'number')?.sure ?? null;
  const lossOf = (name) => losses[name]?.validation ?? losses[name]?.train ?? null;
  const names = page.runs.map(({name}) => name);
  const some = (of) => names.some((name) => of(name) !== null);
  const lossName = names.some((name) => losses[name]?.validation !== undefined) ? 'validation loss' : 'loss';

  /** What the lines can be ordered by. */
  const ordersOf = (used) => [
    some(lossOf) ? {key: 'loss', name: lossName, of: lossOf} : null,
    {key: 'run', name: 'run', of: (name) => name},
    some(sureOf) ? {key: 'sure', name: 'how sure', of: (name) => -(sureOf(name) ?? 0)} : null,
    ...used.map(([place, {title: called}]) => ({key: place, name: called, of: (name) => shortOf(name, place)})),
  ].filter(Boolean);

  /** What they can be grouped by: answers, and parts of the names, where there are neither too few nor too many of them. */
  function groupingsOf(used) {
    const parts = new Map(names.map((name) => [name, name.split(/[/_, -]+/)]));
    const longest = Math.max(...[...parts.values()].map((one) => one.length));
    const all = [
      ...used.map(([place, {title: called}]) => ({key: `by ${place}`, name: `what ${called} says`, of: (name) => shortOf(name, place)})),
      ...[...Array(longest).keys()].map((i) => ({key: `part ${i}`, name: `part ${i + 1} of the name`, of: (name) => parts.get(name)[i] ?? ''})),
    ];
    const different = ({of}) => new Set(names.map(of)).size;
    return [{key: '', name: 'nothing', of: () => ''}, ...all.filter((one) => different(one) > 1 && different(one) <= Math.min(GROUPS, names.length - 1))];
  }

  /** A line for each run, in the chosen order and groups. */
  function table() {
    const used = places.filter(([place]) => names.some((name) => cardOf(name, place)));
    const [orders, groupings] = [ordersOf(used), groupingsOf(used)];
    const [order, grouping] = [orders.find(({key}) => key === state.order) ?? orders[0], groupings.find(({key}) => key === state.group) ?? groupings[0]];
    const sorted = [...names].sort((a, b) => compared(order.of(a), order.of(b)));
    const groups = [...new Set(sorted.map(grouping.of))].sort(compared);
    const select = (label, name, choices, chosen) => h('label', {key: name}, `${label} `, h('select', {value: chosen.key, onchange: (event) => {
      state[name] = event.target.value;
      page.remember();
      paint();
    }}, choices.map((one) => h('option', {key: one.key, value: one.key}, one.name))));
    const group = (name, members) => h('tbody', {key: name}, grouping.key ? h('tr', {key: ' group'}, h('th', {colspan: used.length + 2, scope: 'rowgroup', class: 'group'}, `${name || 'none'}: ${members.length}`)) : null,
      members.map((member) => line(member, used)));
    return [
      h('h2', {class: 'headline', key: 'headline', 'aria-live': 'polite'}, told(used)),
      h('div', {class: 'controls', key: 'controls'}, select('Order by', 'order', orders, order), groupings.length > 1 ? select('Group by', 'group', groupings, grouping) : null),
      legend(used),
      h('div', {class: 'scroll', key: 'table', role: 'region', 'aria-label': 'all runs', tabindex: 0}, h('table', {class: 'runs'},
        h('thead', {}, h('tr', {}, h('th', {scope: 'col', class: 'words'}, 'run'), some(lossOf) ? h('th', {key: 'loss', scope: 'col'}, lossName) : null,
          used.map(([place, {title: called}]) => h('th', {key: place, scope: 'col', class: 'words'}, h('span', {class: 'more'}, called), heading(place))))),
        groups.map((name) => group(name, sorted.filter((member) => grouping.of(member) === name))))),
    ];
  }

  /** The names of the tokens above the bars, if all lines are of one text. */
  function heading(place) {
    const cards = names.map((name) => cardOf(name, place)).filter(Boolean);
    return cards.length && cards.every(({of}) => of !== undefined && of === cards[0].of) ? cards[0].names?.(barsWidth()) : null;
  }

  /** The output for which the bars of all lines speak: the label where there is one, or the answer that most runs give. */
  function spokenFor(place) {
    const cards = names.map((name) => cardOf(name, place)).filter((card) => card?.bars);
    const times = new Map();
    for (const {label, short} of cards) times.set(label ?? short, (times.get(label ?? short) ?? 0) + 1);
    return [...times].sort((a, b) => b[1] - a[1])[0]?.[0];
  }

  /** What the bars are. */
  function legend(used) {
    const [place] = used.find(([name]) => names.some((one) => cardOf(one, name)?.bars)) ?? [];
    if (!place) return null;
    return h('p', {class: 'note', key: 'legend'}, 'Bars: ', h('b', {class: 'for'}, 'blue'), ` speaks for ${quoted(spokenFor(place) ?? '')}, `, h('b', {class: 'against'}, 'orange'), ' against it; all runs on one scale.');
  }

  const barsWidth = () => Math.min(BARS, Math.max(90, width - 420));

  function line(name, used) {
    const number = column(names.map(lossOf).filter((loss) => loss !== null));
    return h('tr', {key: name, 'data-run': name}, h('th', {scope: 'row'}, name),
      some(lossOf) ? h('td', {key: 'loss'}, lossOf(name) === null ? '–' : number(lossOf(name))) : null,
      used.map(([place]) => {
        const card = cardOf(name, place);
        if (!card) return h('td', {key: place}, found.has(name) ? '–' : '…');
        const words = `${isolated(card.short)}${typeof card.sure === 'number' ? ` ${percent(card.sure, 0)}` : ''}`;
        return h('td', {key: place, class: 'words'}, opening(name, place, [words, card.wrong === undefined || card.label === undefined ? null : card.wrong ? h('b', {class: 'error'}, ' ✗ wrong') : h('b', {class: 'good'}, ' ✓')]), card.bars?.(barsWidth(), scaleOf(place, card.unit), spokenFor(place)) ?? null);
      }));
  }

  /** What the runs say, counted: those that read a text, by their answers. */
  function told(used) {
    const count = `${page.runs.length} runs`;
    if (found.size < page.runs.length) return `Reading ${count} …`;
    const said = [...found.values()].flatMap((cards) => cards.filter(({of, sure}) => of !== undefined && typeof sure === 'number'));
    if (!said.length) return `${count}${used.length ? `: ${used.map(([, {title: called}]) => called).join(', ')}` : ''}.`;
    const answers = new Map();
    for (const {short} of said) answers.set(short, (answers.get(short) ?? 0) + 1);
    const texts = new Set(said.map(({of}) => of));
    const counted = [...answers].sort((a, b) => b[1] - a[1]).slice(0, 4).map(([name, times], i) => `${times}${i ? '' : ` read${times === 1 ? 's' : ''} ${texts.size === 1 ? quoted(said[0].of) : 'their text'} as`} ${quoted(name)}`);
    const labels = new Set(said.map(({label}) => label));
    const wrong = said.filter((card) => card.wrong).length;
    const truth = labels.size === 1 && !labels.has(undefined) ? ` The label is ${quoted([...labels][0])}: ${wrong} ${wrong === 1 ? 'is' : 'are'} wrong.` : '';
    return `${count}: ${counted.join(', ')}${answers.size > 4 ? `, and ${answers.size - 4} other answers` : ''}.${truth}`;
  }

  paint();
  for (const {name, of} of page.runs) {
    const cards = [];
    for (const [place, {card}] of places) {
      const one = await of(place);
      if (!page.current()) return;
      if (!one.entries.length) continue;
      const made = await card(one).catch(() => null);
      if (made) cards.push({place, ...made});
    }
    if (!page.current()) return;
    found.set(name, cards);
    paint();
  }
}

/** The order of two numbers or names; what is missing comes last. */
function compared(a, b) {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return typeof a === 'number' ? a - b : a.localeCompare(b, undefined, {numeric: true});
}
