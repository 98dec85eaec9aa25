// What in a text made the network say this: bars on its tokens, what it would say without one, and the folds below.

import {baseOf, between, errorOf, floorOf, formatOf, noteOn, outcomesOf, quoted, ranked, placeOf, restOf, saturation, says, sentence, split, sumOf, withMargin, withUnit} from './outputs.js';
import {nearest} from './page.js';
import {leadOf, pairOf, textsOf} from './readings.js';
import {blank, isSpace} from './letters.js';
import {h, patch} from './render.js';
import {column, percent, points, shown} from './scales.js';
import {brief, strip} from './bars.js';
import {lineOf, stacked} from './stack.js';
import {logging} from './texts.js';
import {mapOf, traceFold} from './traces.js';
import {triangleOf} from './triangle.js';
import {turns, walk} from './waterfall.js';

export const title = 'Reads';
export const about = 'What in the text made the network say this?';
export const example = logging;
export const several = true;

const OUTPUTS = 5;
const CHOICES = 300; // outputs of a list; of more, the most probable ones
const ROWS = 200;
const PARTNERS = 6;
const FEW = 8; // sequences with a button each; of more, a list
const LONG = 40; // letters, above which a text opens by words
const DIGITS = 9; // of a number in code

export async function draw(body, page) {
  await drawTexts(body, page, await textsOf(page));
}

/** Draws texts (`textsOf`), and gives what draws them again when they have changed. folded: whether what can be chosen stands
 * folded below the bars. */
export async function drawTexts(body, page, texts, {folded = false} = {}) {
  const {state} = page;
  if (!texts.length) throw new Error('no step of these tags can be read');
  const opened = new Set();
  let drawn = null;

  const text = () => texts.find(({key}) => key === state.text) ?? texts[0];
  const method = () => text().methods.find(({id}) => id === state.method) ?? text().methods[0];
  const choose = (change) => {
    Object.assign(state, change);
    page.remember();
    return show();
  };

  /** Whether all texts are shown: those of a batch, until one is chosen. */
  const several = () => !texts.some(({key}) => key === state.text) && texts.length > 1 && texts.length <= FEW && texts.every(({name, methods}) => name && methods.length);

  async function show() {
    if (several()) return showAll(texts.map((one) => ({name: one.name, before: `${one.name[0].toUpperCase()}${one.name.slice(1)}: `, who: page.title || 'the network', one, open: () => choose({text: one.key, target: null, picked: null})})));
    if (state.other && others().includes(state.other)) return showBoth();
    const {symbols, methods, traces, changes} = text();
    const chosen = method();
    const first = Math.max(chosen?.series.first ?? 1, chosen?.series.slices?.indexOf(true, 1) ?? 1); // a file may have the last predictions alone
    const target = chosen?.earlier ? Math.min(Math.max(first, state.target ?? symbols.length), symbols.length) : symbols.length;
    page.slider(show, (chosen ?? traces[0]).series.steps);
    const step = state.step;
    const key = `${text().key} ${chosen?.id} ${step} ${target}`;
    const [reading, answers] = await Promise.all([chosen?.load(step, target) ?? null,
      changes && (changes.earlier || target === symbols.length) && changes.series.steps.includes(step) ? changes.load(step, target) : null]);
    if (!page.current() || key !== `${text().key} ${method()?.id} ${state.step} ${target}`) return;
    drawn = {symbols: symbols.slice(0, target), all: symbols, vectors: text().vectors, methods, method: chosen, reading, answers, changes, traces, first, target};
    paint();
  }

  const others = () => page.everywhere?.().map(({name}) => name).filter((name) => name !== page.run) ?? [];

  /** This text as two runs read it. */
  async function showBoth() {
    const {entries} = page.everywhere().find(({name}) => name === state.other);
    const there = (await textsOf({...page, entries})).find(({key}) => key === text().key);
    if (!page.current()) return null;
    if (there?.methods.length) return showAll([{name: page.title || 'this run', who: page.title || 'This run', one: text(), open: () => choose({other: null})}, {name: state.other, who: state.other, one: there, open: () => page.go({run: state.other, other: null})}]);
    patch(body, choosers(), h('p', {class: 'note'}, `${state.other} has logged nothing of this text.`));
    return null;
  }

  /** Several texts, or one text of several runs, one under another. */
  async function showAll(all) {
    const of = ({methods}) => methods.find(({id}) => id === state.method) ?? methods[0];
    page.slider(show, of(all[0].one).series.steps);
    const {step} = state;
    const lines = await Promise.all(all.map(async ({one, ...more}) => {
      const {load, series: {steps}} = of(one);
      return {...more, line: lineOf(await load(nearest(steps, step), one.symbols.length), one.symbols, state)};
    }));
    if (!page.current() || step !== state.step) return;
    const rows = () => [['text', 'position', 'token', 'bar'], ...lines.flatMap(({name, line}) => line.rows(name))];
    patch(body, choosers(), h('p', {class: 'note', key: 'scale'}, lines[0].line.note, ' ', h('b', {class: 'for'}, 'Blue'), ' raised it, ', h('b', {class: 'against'}, 'orange'), ' lowered it; all on one scale.'), stacked(lines, Math.max(260, page.width() - 34)),
      h('div', {key: 'downloads'}, page.downloads(() => [...body.querySelectorAll('svg.strip')], rows, {file: `${all.length} texts`})),
      text().traces.length ? traceFold(page, text().traces[0], body.clientWidth, () => page.current() && show()) : null);
  }

  /** The texts and the runs that can be looked at together. */
  function choosers() {
    const runs = others().length ? select('Compare with', [['', 'no other run'], ...others().map((name) => [name, name])], state.other ?? '', (other) => choose({other: other || null, picked: null})) : null;
    return texts.length > 1 || runs ? h('div', {class: 'controls', key: 'texts'}, texts.length > 1 ? textChooser() : null, runs) : null;
  }

  function paint() {
    patch(body, choosers(), folded ? null : header(), drawn.reading ? told() : plain(), drawn.traces.length ? [traceFold(page, drawn.traces[0], body.clientWidth, repaint)] : null);
  }
  const repaint = () => page.current() && paint();

  /** The text, the method, the outputs compared, the prediction. */
  function header() {
    const {methods, method: chosen, all, first, target, reading} = drawn;
    const pair = reading ? pairOf(reading, state) : [];
    const choices = reading ? choicesOf(reading, pair) : [];
    const among = (at, label, name) => select(label, choices.map((o) => [reading.outputs[o], reading.outputs[o]]), reading.outputs[pair[at]], (value) => choose({[name]: value}));
    const choosing = [
      methods.length > 1 ? buttons('method', methods.map(({id, name}) => [id, name]), chosen.id, (id) => choose({method: id})) : null,
      pair.length > 1 ? h('span', {class: 'pair'}, among(0, 'Bars up for', 'up'), among(1, 'down for', 'down')) : null,
      reading && !reading.of && !blank(all) && all.some(isSpace) ? h('button', {type: 'button', 'aria-pressed': String(inWords()), onclick: () => choose({words: !inWords(), picked: null})}, 'By words') : null,
      chosen?.earlier && all.length > first ? h('label', {class: 'slider'}, 'Prediction ', h('input', {type: 'range', min: first, max: all.length, value: String(target), 'aria-label': 'prediction after this token',
        'aria-valuetext': `after ${target} of ${all.length}`, oninput: (event) => choose({target: Number(event.target.value), picked: null})}), h('output', {}, `after ${target} of ${all.length}`)) : null].filter(Boolean);
    return choosing.length ? h('div', {class: 'controls', key: 'header'}, choosing) : null;
  }

  /** Whether letters are shown by words: chosen, or of a long text. */
  function inWords() {
    const {symbols, vectors} = drawn;
    return !vectors && !blank(symbols) && symbols.some(isSpace) && (state.words ?? symbols.length > LONG);
  }

  /** The sequences of a batch have buttons; many of them, and texts, a list. */
  function textChooser() {
    const named = texts.every(({name}) => name);
    const onchange = (key) => choose({text: key, target: null, picked: null});
    const together = named && texts.every(({methods}) => methods.length) ? [['', 'all']] : [];
    if (named && texts.length <= FEW) return buttons('sequence', [...together, ...texts.map(({key, name}) => [key, name])], several() ? '' : text().key, onchange);
    return select(named ? 'Sequence' : 'Text', texts.map((one) => [one.key, one.name ? `${one.name}: ${preview(one)}` : preview(one)]), text().key, onchange);
  }

  /** The sentence, the bars, what a picked token does. */
  function told() {
    const {symbols, method: chosen} = drawn;
    const among = drawn.reading.tokens;
    const chose = state.picked !== null && state.picked >= 0 && state.picked < among;
    const reading = drawn.reading.of && chose ? drawn.reading.of(state.picked) : drawn.reading;
    const pair = pairOf(reading, state);
    const lead = leadOf(reading, pair);
    const words = inWords() && !reading.of;
    const masked = new Set(reading.masked), fixed = new Set(reading.fixed);
    const padding = (group) => !reading.of && group.every((i) => masked.has(i)) && reading.tokens > masked.size; // a line of its own says how many
    const groups = (words ? wordsOf(symbols.slice(0, reading.tokens)) : symbols.slice(0, reading.tokens).map((_, i) => [i])).filter((group) => !padding(group));
    const values = groups.map((group) => group.reduce((sum, i) => sum + lead(i), 0));
    const format = formatOf(reading, values, pair);
    const inFull = pair.map((o) => quoted(reading.outputs[o])).join(' over ');
    const names = pair.map((o) => quoted(brief(reading.outputs[o])));
    const against = names.join(' over ');
    const margins = groups.map((group) => errorOf(reading, group, pair));
    const asks = reading.without || drawn.answers;
    const picked = reading.of ? reading.picked : asks && state.picked !== null && state.picked >= 0 && state.picked < groups.length ? state.picked : null;
    const tokens = groups.map((group, g) => {
      const off = group.every((i) => masked.has(i) || fixed.has(i));
      return {name: nameOf(group.map((i) => symbols[i])), value: values[g], margin: margins[g], off, says: reading.of ? inPair(reading, symbols, g, off, format(values[g])) : off ? (group.every((i) => fixed.has(i)) ? 'not changed' : 'masked, not read') : `${withUnit(withMargin(values[g], margins[g], format), reading)} for ${against}${reading.there ? `\nthe text until here: ${reading.there(group[group.length - 1])}` : ''}`};
    });
    const near = saturation(reading, pair);
    const outputs = outcomesOf(reading);
    const shownOutputs = [...outputs.slice(0, OUTPUTS), ...outputs.slice(OUTPUTS).filter(([, , o]) => pair.includes(o))];
    const rest = restOf(reading, pair, format);
    const choices = folded ? header() : null;
    return [
      h('h2', {class: 'headline', key: 'headline', 'aria-live': 'polite'}, words ? sentence(page.title, byWords(reading, groups), tokens.map(({name}) => name), (g) => values[g], pair) : sentence(page.title, reading, symbols, lead, pair)),
      reading.asRead ? asRead(reading, pair, tokens, groups, format) : null,
      h('p', {class: 'note', key: 'about'}, noteOn(reading, inFull, symbols), ' ', reading.of
        ? [h('b', {class: 'for'}, 'Blue'), ': more together, ', h('b', {class: 'against'}, 'orange'), ': less.'] : names.length > 1
        ? [h('b', {class: 'for'}, 'Blue'), ` speaks for ${names[0]}, `, h('b', {class: 'against'}, 'orange'), ` for ${names[1]}.`]
        : [h('b', {class: 'for'}, 'Blue'), reading.kind === 'taken' ? ' holds it up, ' : ' raised it, ', h('b', {class: 'against'}, 'orange'), reading.kind === 'taken' ? ' holds it down.' : ' lowered it.'],
      ` ${sumOf(reading, lead, pair, rest)}`,
      reading.error && (pair.length > 1 || words) ? ' Intervals of differences and of sums are at most as wide as drawn.' : '',
      masked.size && !reading.of ? ` ${masked.size} masked ${reading.noun}${masked.size === 1 ? ' is' : 's are'} not read.` : '',
      reading.others ? ` Of ${reading.outputs.length + reading.others.count} outputs, the ${reading.outputs.length} ${reading.values ? 'largest' : 'most probable'} have terms here${reading.others.probability === null ? '' : `; the others have ${percent(reading.others.probability)} together`}.` : ''),
      near ? h('p', {class: 'note', key: 'near'}, near) : null,
      whyOf(reading) ? h('p', {class: 'note', key: 'reason'}, `Why this method: ${whyOf(reading)}.`) : null,
      h('figure', {key: 'bars', class: 'bars'}, strip(tokens, {width: Math.max(260, page.width()), picked, format, noun: reading.noun, opened, base: baseOf(reading, pair, format), floor: floorOf(reading, pair),
        onpick: reading.of ? pick : asks ? (i) => choose({picked: i === picked ? null : i}) : null, onfocus: reading.of ? pick : null, onopen: (lines) => { lines.forEach((line) => opened.add(line)); paint(); },
        outputs: shownOutputs.map(([name, part, o]) => ({name, part, look: o === pair[0] ? 'for' : o === pair[1] ? 'against' : null}))})),
      choices ? fold('choices', 'What is shown: outputs, method, prediction', () => choices) : null,
      reading.of ? partners(reading, symbols, format) : picked === null ? (asks ? h('p', {class: 'note', key: 'hint'}, `Click a ${reading.noun} for the prediction ${[reading.without ? 'without its term of the sum' : null, drawn.answers?.deleted ? `with the ${reading.noun} deleted` : null, drawn.answers ? 'with another in its place' : null].filter(Boolean).join(', or ')}.`) : null) : panel(groups, picked, tokens, against, format),
      reading.features ? h('figure', {key: 'features'}, featureMap(reading, symbols, pair, against)) : null,
      reading.leftOut ? h('p', {class: 'note', key: 'features'}, 'The shares of features are left out, as they are too many for a page. The result has them.') : null,
      h('div', {key: 'downloads'}, page.downloads(() => [...body.querySelectorAll('svg.walk, svg.strip')], () => (reading.of ? pairTable(reading) : table(tokens, pair, groups)),
        {file: `${symbols.join(blank(symbols))} ${chosen.id}`, python: () => codeOf(tokens.filter(({off}) => !off), inFull, reading)})),
      chosen.earlier && chosen.series.slices?.[0] !== false && !(chosen.series.first > 1) ? fold('predictions', `All ${drawn.all.length} predictions`, () => triangleOf(page, drawn, page.width(), (target) => choose({target, picked: null}))) : null,
      drawn.answers && drawn.answers.all !== null && pair.length && !reading.of ? fold('replacements', 'The replacements that change it most', () => replacements(pair)) : null,
      fold('numbers', 'The numbers', () => (reading.of ? numbers(pairTable(reading, false), drawn.vectors ? 2 : 4)
        : numbers(table(tokens, pair, groups).map(([, ...seen]) => seen), drawn.vectors ? 1 : 2, pair.length))),
    ];
  }

  /** What is split, in words. */
  function whatOf({quantity, outputs}, pair) {
    if (pair.length > 1) return `the ${quantity || 'output'} of ${quoted(brief(outputs[pair[0]]))}, less that of ${quoted(brief(outputs[pair[1]]))},`;
    return split(quoted(brief(outputs[pair[0]])), {quantity});
  }

  /** The verdict while the text is read, and where it changed its mind. */
  function asRead(reading, pair, tokens, groups, format) {
    const at = [0, ...groups.map((group) => group[group.length - 1] + 1)].map((t) => between((o) => reading.asRead(t, o), pair));
    const line = pair.length > 1 || reading.odds ? 0 : reading.quantity === 'probability' ? 0.5 : null;
    const sides = pair.length > 1 ? pair.map((o) => brief(reading.outputs[o])) : line === null ? [] : [brief(reading.outputs[pair[0]]), reading.classes?.[0] ?? 'not'];
    const changed = line === null ? [] : turns(at, line);
    const names = groups.length < drawn.symbols.length ? tokens.map(({name}) => name) : drawn.symbols;
    const where = changed.map((t) => placeOf(names, t, reading.noun));
    const mind = line === null ? '' : where.length > 1 ? ` It changed sides ${where.length} times, last at ${where[where.length - 1]}.` : where.length ? ` It changed sides at ${where[0]}.` : ' It never changed sides.';
    return [h('p', {class: 'note', key: 'as read'}, `As it is read, with the rest empty: each ${reading.noun} moves ${whatOf(reading, pair)} from where the ${reading.noun} before left it.${mind}`),
      h('figure', {key: 'walk'}, walk(tokens, at, line, {width: Math.max(260, page.width()), sides, format, noun: reading.noun}))];
  }

  function pick(i) {
    if (i !== state.picked) choose({picked: i});
  }

  /** The bars as code that draws them, and the call that computed them. */
  function codeOf(tokens, output, reading) {
    const list = (items) => `[${items.join(', ')}]`;
    const text = (name) => JSON.stringify(name);
    const {call, ids} = drawn.method;
    const x = ids ? list([list(ids.slice(0, drawn.target))]) : 'x';
    return [
      'from keras_interp_rnn import analysis, views', '',
      `tokens = ${list(tokens.map(({name}) => text(name)))}`,
      `values = ${list(tokens.map(({value}) => Number((value ?? 0).toPrecision(DIGITS))))}`,
      `print(views.bars(tokens, values, outputs=${list([text(output.replaceAll(/[“”\u2068\u2069]/g, ''))])}${reading.unit ? `, unit=${text(reading.unit)}` : ''}))`, '',
      `# All of it again, from the network${ids ? '' : ' and x, the input as it reads it'}:`,
      `# result = ${call(x)}`, '',
    ].join('\n');
  }

  /** The others with which the picked token acts most. */
  function partners(reading, symbols, format) {
    const {picked, noun, at} = reading;
    const others = [...symbols.keys()].filter((i) => /[1-9]/.test(format(at(picked, i)))).sort((a, b) => Math.abs(at(picked, b)) - Math.abs(at(picked, a))).slice(0, PARTNERS);
    const place = placeOf(symbols, picked, noun);
    return h('section', {class: 'panel', key: 'panel', 'aria-live': 'polite'},
      h('h3', {}, `${place[0].toUpperCase()}${place.slice(1)}${noun === 'step' ? '' : `, number ${picked + 1}`} of ${symbols.length}${others.length ? '' : ': acts with no other'}`),
      h('dl', {class: 'answers'}, others.map((i) => [h('dt', {key: `name ${i}`}, `with ${placeOf(symbols, i, noun)}${noun === 'step' ? '' : `, number ${i + 1}`}`), h('dd', {key: `answer ${i}`}, withUnit(format(at(picked, i)), reading))])),
      h('p', {class: 'note'}, `Click another ${noun}, or go to it with the arrow keys, for its pairs.`));
  }

  /** A row for each pair. */
  function pairTable({at, masked, noun, unit, quantity, outputs: [output]}, indices = true) {
    const {symbols, vectors} = drawn;
    const there = [...symbols.keys()].filter((i) => !masked?.includes(i));
    const place = (index, position, name) => [...(indices ? [index] : []), ...(vectors ? [] : [position]), name];
    return [[...place('index', 'position', noun), ...place('index of the other', 'position of the other', 'the other'), `interaction in ${quantity && `the ${quantity} of `}${output}${unit && `, in ${unit}`}`],
      ...there.flatMap((i) => there.filter((j) => j > i).map((j) => [...place(i, i + 1, symbols[i]), ...place(j, j + 1, symbols[j]), at(i, j)]))];
  }

  /** A row for each feature, a column for each step: by how much the feature moved the first output ahead of the second. */
  function featureMap(reading, symbols, pair, against) {
    const [first, second] = pair;
    const share = (i, f) => reading.feature(i, f, first) - (second === undefined ? 0 : reading.feature(i, f, second));
    return mapOf(`Shares of features in ${against}`, [...Array(reading.features).keys()], symbols.map((_, i) => (f) => share(i, f)), symbols, {
      width: page.width(), row: 'feature', rows: reading.featureNames, noun: reading.noun, place: (t) => `of ${placeOf(symbols, t, reading.noun)}`, both: true, format: (number) => withUnit(shown(number), reading),
    });
  }

  /** What the network says as it is, without a term of the sum, with the symbol deleted or replaced. */
  function panel(groups, picked, tokens, against, format) {
    const {symbols, reading, answers, changes} = drawn;
    const group = groups[picked];
    const logits = reading.outputs.map((_, o) => reading.logits(o));
    const shared = reading.others ? 1 - reading.others.probability : 1;
    const without = reading.outputs.map((_, o) => logits[o] - group.reduce((sum, i) => sum + reading.value(i, o), 0));
    const single = group.length === 1 ? group[0] : null;
    const unread = changes?.series.masked?.includes(single) || changes?.series.fixed?.includes(single);
    const alternatives = single === null || !answers || unread ? [] : changes.series.alternatives;
    const instead = alternatives.includes(state.instead) ? state.instead : alternatives.find((name) => name !== symbols[single]);
    const rows = [
      ['as it is', reading.odds ? outcomesOf(reading).slice(0, 2).map(([name, part]) => `${quoted(name)} ${percent(part)}`).join(', then ') : says(reading.outputs, logits, shared, reading.values)],
      reading.without ? [`without this term of the sum${reading.others ? `, among the ${reading.outputs.length} outputs` : ''}`, says(reading.outputs, without, 1, reading.values)] : null,
      single !== null && !unread && answers?.deleted ? ['deleted', says(changes.series.outputs, answers.deleted(single), 1, changes.series.values)] : null,
      instead === undefined ? null : [['replaced by ', h('select', {'aria-label': 'replaced by', value: instead, onchange: (event) => choose({instead: event.target.value})},
        alternatives.map((name) => h('option', {value: name}, name)))], says(changes.series.outputs, answers.replaced(single, alternatives.indexOf(instead)), 1, changes.series.values)],
    ].filter(Boolean);
    const place = group.length > 1 ? `“${tokens[picked].name}”` : placeOf(symbols, single, reading.noun);
    return h('section', {class: 'panel', key: 'panel', 'aria-live': 'polite'},
      h('h3', {}, `${place[0].toUpperCase()}${place.slice(1)}${group.length > 1 ? `, symbols ${group[0] + 1} to ${group[group.length - 1] + 1}` : reading.noun === 'step' ? '' : `, number ${single + 1}`} of ${symbols.length}: ${format(tokens[picked].value)} for ${against}`),
      h('dl', {class: 'answers'}, rows.map(([name, answer], i) => [h('dt', {key: `name ${i}`}, name), h('dd', {key: `answer ${i}`}, answer)])),
      reading.without ? h('p', {class: 'note'}, `Without its term the ${reading.noun} is still read: its matrix carries the terms before it. `,
        answers || !symbols.length || reading.noun === 'step' ? '' : 'What the network says of the text without the symbol, or with another, callbacks.Substitutions logs.') : null);
  }

  /** Of every replacement the change of the first output. */
  function replacements(pair) {
    const {answers, symbols, changes: {series: {alternatives, outputs, masked = [], fixed = [], values = false}}, reading} = drawn;
    answers.all?.();
    const o = outputs.indexOf(reading.outputs[pair[0]]);
    const single = outputs.length === 1;
    const asIs = single || values;
    const measure = (logits) => (single ? logits[0] : values ? logits[o] : ranked(outputs, logits).find(([, , other]) => other === o)[1]);
    const usual = measure(answers.original);
    const all = symbols.flatMap((symbol, i) => alternatives.map((name, a) => [i, symbol, name, measure(answers.replaced(i, a)) - usual, answers.replaced(i, a)]))
      .filter(([i, symbol, name]) => symbol !== name && !masked.includes(i) && !fixed.includes(i)).sort((a, b) => Math.abs(b[3]) - Math.abs(a[3])).slice(0, 12);
    return tableOf(['position', 'symbol', 'instead', single ? 'change of the output' : `change of ${brief(outputs[o])}`, 'then'],
      all.map(([i, symbol, name, change, logits]) => [i + 1, symbol, name, asIs ? shown(change) : points(change), says(outputs, logits, 1, values)]));
  }

  function table(tokens, pair, groups) {
    const {reading} = drawn;
    const of = (o) => (reading.quantity ? `share of the ${reading.quantity} of ${reading.outputs[o]}${reading.unit && `, in ${reading.unit}`}` : reading.outputs[o]);
    const sized = (name) => (reading.unit ? `${name}, ${reading.unit}` : name);
    const sum = (group, o) => group.reduce((sum, i) => sum + reading.value(i, o), 0);
    const place = (index, position, name) => (drawn.vectors ? [index, name] : [index, position, name]);
    const margin = (number) => (reading.error ? [number] : []);
    return [[...place('index', 'position', reading.noun), ...pair.map(of), sized('bar'), ...margin(sized('±, 95% interval'))],
      ...groups.map((group, g) => (tokens[g].off ? null : [...place(group[0], group[0] + 1, tokens[g].name), ...pair.map((o) => sum(group, o)), tokens[g].value, ...margin(tokens[g].margin)])).filter(Boolean),
      ...reading.rest.map(([name, value]) => [...place('', '', name), ...pair.map(value), value(pair[0]) - (pair.length > 1 ? value(pair[1]) : 0), ...margin(0)])];
  }

  function plain() {
    return h('p', {class: 'lead', key: 'plain'}, `${page.title || 'The network'} reads${drawn.vectors ? ` ${preview(drawn)}.` : ': '}`, drawn.vectors ? '' : drawn.symbols.join(blank(drawn.symbols)));
  }

  const unfolded = new Set();

  /** What is drawn when it is opened, and not before. */
  function fold(key, name, content) {
    return h('details', {key, ontoggle: (event) => {
      if (event.currentTarget.open === unfolded.has(key)) return;
      event.currentTarget.open ? unfolded.add(key) : unfolded.delete(key);
      paint();
    }}, h('summary', {}, name), unfolded.has(key) ? content() : null);
  }

  await show();
  return show;
}

/** One run in a sentence and a drawing, for the overview. */
export async function card(page) {
  const texts = await textsOf(page);
  const text = texts.find(({key, methods}) => key === page.state.text && methods.length) ?? texts.find(({methods}) => methods.length);
  if (!text) return texts.length ? {sentence: [`${page.title || 'The network'} was traced while it read ${texts[0].vectors ? preview(texts[0]) : `“${preview(texts[0])}”`}.`], drawing: null} : null;
  const [method] = text.methods;
  const {steps} = method.series;
  const line = lineOf(await method.load(steps[steps.length - 1], text.symbols.length), text.symbols);
  return {...line, sentence: line.sentence(page.title), of: preview(text)};
}

function buttons(label, choices, value, onchange) {
  return h('span', {class: 'switch', role: 'group', 'aria-label': label}, choices.map(([key, name]) =>
    h('button', {key, type: 'button', 'aria-pressed': String(key === value), onclick: () => onchange(key)}, name)));
}

function select(label, options, value, onchange) {
  return h('label', {}, `${label} `, h('select', {value, onchange: (event) => onchange(event.target.value)}, options.map(([key, name]) => h('option', {key, value: key}, name))));
}

/** What a token and the picked one change together, in words. */
function inPair(reading, symbols, i, off, value) {
  if (off) return 'masked, or as what replaces it';
  return i === reading.picked ? 'picked' : `${withUnit(value, reading)} with ${placeOf(symbols, reading.picked, reading.noun)}`;
}

/** The outputs that can be chosen, by name; of very many the most probable ones. */
function choicesOf({outputs, logits}, pair) {
  const all = [...outputs.keys()];
  if (all.length <= CHOICES) return all;
  return [...new Set([...pair, ...all.sort((a, b) => logits(b) - logits(a)).slice(0, CHOICES)])];
}

function preview({symbols, vectors}) {
  if (vectors) return symbols.length === 1 ? 'step 1' : `steps 1 to ${symbols.length}`;
  const text = symbols.slice(0, 60).join(blank(symbols));
  return text.length > 44 || symbols.length > 60 ? `${text.slice(0, 43)}…` : text;
}

/** Why a method was used, unless it was asked for. */
const whyOf = ({reason = ''}) => (reason ?? '').replace(/^it was asked for[;,]? ?/, '');

/** The name of a word, without the space that it begins with. */
function nameOf(symbols) {
  return symbols.slice(symbols.length > 1 && isSpace(symbols[0]) ? 1 : 0).join('');
}

/** A reading whose tokens are words: of each the sum. */
function byWords(reading, groups) {
  const sum = (of) => of && ((g, o) => groups[g].reduce((all, i) => all + of(i, o), 0));
  return {...reading, noun: 'word', tokens: groups.length, value: sum(reading.value), error: sum(reading.error)};
}

/** The tokens of each word: a word begins at white space, which is its first token. */
function wordsOf(symbols) {
  const starts = symbols.map((_, i) => i).filter((i) => i === 0 || isSpace(symbols[i]));
  return starts.map((start, w) => [...Array((starts[w + 1] ?? symbols.length) - start).keys()].map((offset) => start + offset));
}

function tableOf(head, rows) {
  return h('div', {class: 'scroll', tabindex: 0}, h('table', {}, h('thead', {}, h('tr', {}, head.map((name) => h('th', {key: name, scope: 'col'}, name)))),
    h('tbody', {}, rows.map((row) => h('tr', {}, row.map((cell) => h('td', {}, cell)))))));
}

/** What the bars show, as a table: of a long text the largest. names: how many columns have no numbers; outputs: how many precede that of the bars. */
function numbers(lines, names, outputs = lines[0].length - 1 - names) {
  const [head, ...rows] = lines;
  const bar = names + outputs;
  const kept = new Set([...rows].sort((a, b) => Math.abs(b[bar]) - Math.abs(a[bar])).slice(0, ROWS));
  const formats = head.map((_, c) => (c < names ? String : column(rows.map((row) => row[c]))));
  return [rows.length > ROWS ? h('p', {class: 'note'}, `The ${ROWS} largest of ${rows.length}; all are in the file that is saved.`) : null,
    tableOf(head, rows.filter((row) => kept.has(row)).map((row) => row.map((cell, c) => formats[c](cell))))];
}
