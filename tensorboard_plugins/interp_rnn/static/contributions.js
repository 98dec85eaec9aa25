// What every symbol of a text contributes to every prediction of an ISAN, and the sum without some of them.

import {colourBar, html, raster, rasterImage, remembering, share, shown, svg} from './charts.js';
import {bars, best, blank, grouped, number, says, shadedText, softmax, strongest, wordStarts} from './shares.js';
import {logging} from './texts.js';

export const title = 'Contributions';
export const about = 'Every logit of an input-switched affine network, split exactly among the symbols it has read.';
export const example = logging('Contributions');

const CONTEXT = 60;

export async function draw(body, page) {
  const {series, state} = page;
  const {symbols} = series;
  const steps = symbols.length;
  const off = new Set(state.off ?? []);
  let words = state.words ?? false;
  state.index = Math.min(Math.max(1, state.index ?? steps), steps);
  const overview = html('figure', {class: 'wide'});
  const text = html('p', {class: 'text', 'aria-label': 'the text; click a symbol to take its term out of the sum'});
  const column = html('figure');
  const prediction = html('p', {class: 'says', 'aria-live': 'polite'});
  const legend = html('p', {class: 'note'});
  const left = html('p', {class: 'note'});
  let block = null;

  const slices = remembering(page.slice, 16);
  const sources = ['h₀', ...symbols];
  const starts = wordStarts(symbols);
  const width = () => (page.width() >= 900 ? (page.width() - 24) / 2 : page.width());

  const chosen = html('output', {});
  const targets = html('input', {type: 'range', min: 1, max: steps, step: 1, 'aria-label': 'prediction after this symbol', oninput: () => {
    state.index = Number(targets.value);
    show();
  }});
  const noted = () => {
    targets.value = String(state.index);
    chosen.textContent = `after symbol ${state.index} of ${steps}`;
    targets.setAttribute('aria-valuetext', chosen.textContent);
  };

  async function show() {
    noted();
    const [step, target] = [state.step, state.index];
    const [whole, one] = await Promise.all([slices(step, 0), slices(step, target)]);
    if (!page.current() || step !== state.step || target !== state.index) return;
    block = blockOf(series, one, target);
    const largest = whole.values.subarray(0, (steps + 1) * steps).reduce((most, value) => Math.max(most, value), 1e-9);
    overview.replaceChildren(
      html('figcaption', {}, 'Norm of each contribution in nats: a row for each source, a column for each prediction. Click a column to select it.'),
      html('div', {class: 'scroll'}, stack(whole, largest, sources, symbols, state.index, page.dark(), (target) => { state.index = target; show(); }, strongestOutputs, width())),
      colourBar('0', `${shown(largest)} nats; colour by the square root`, (part) => share(part, page.dark())));
    paint();
    page.remember();
    const at = page.steps.indexOf(step);
    for (const near of [at - 1, at + 1].filter((i) => i in page.steps)) {
      slices(page.steps[near], 0);
      slices(page.steps[near], target);
    }
  }

  function toggle(members) {
    const on = members.every((one) => off.has(one));
    for (const member of members) on ? off.delete(member) : off.add(member);
    state.off = [...off];
    paint();
    page.remember();
  }

  function paint() {
    const target = state.index;
    const {outputs, others, value, bias} = block;
    const K = outputs.length;
    const logits = (kept) => outputs.map((_, o) => {
      let sum = bias(o);
      for (let s = 0; s <= target; s++) if (kept(s)) sum += value(s, o);
      return sum;
    });
    const full = logits(() => true);
    const [winner, runner] = best(softmax(full));
    const pair = K === 1 ? [winner] : [winner, runner];
    const groups = words ? grouped(starts, target) : [...Array(target + 1).keys()].map((s) => [s]);
    const sum = (group, output) => group.reduce((total, s) => total + value(s, output), 0);
    const lead = (group) => sum(group, winner) - (K === 1 ? 0 : sum(group, runner));
    const groupAt = (i) => groups.find((one) => one.includes(i + 1));
    shadedText(text, symbols, (i) => {
      const group = groupAt(i);
      return {
        value: group ? lead(group) : null, off: off.has(i + 1), at: i + 1 === target,
        says: group ? `${number(lead(group))} nats for ${outputs[winner]}${K === 1 ? '' : ` over ${outputs[runner]}`}` : 'not read yet',
      };
    }, {dark: page.dark(), ontoggle: (i) => toggle(groupAt(i) ?? [i + 1])});
    for (const [i, span] of [...text.children].entries()) span.setAttribute('aria-pressed', String(!off.has(i + 1)));
    const [first, then] = says(full, outputs, others ? 1 - others.probability : 1);
    const [now, nowThen] = says(logits((s) => !off.has(s)), outputs);
    const among = others ? `, among the ${K} outputs` : '';
    left.textContent = others ? `Here the ${K} most probable of ${K + others.count} outputs have a term each. The other ${others.count} have ${(100 * others.probability).toPrecision(2)}% of the probability, and one term, their sum.` : '';
    prediction.replaceChildren(
      `After ${target > CONTEXT ? '…' : ''}${symbols.slice(Math.max(0, target - CONTEXT), target).join(blank(symbols))}: `, html('b', {}, first), `${then}. `,
      off.size ? html('span', {class: 'now'}, `From the sum without the terms taken out${among}: ${now}${nowThen}.`) : '',
    );
    legend.textContent = K === 1 ? 'Blue symbols raised the output, red ones lowered it.'
      : `Blue symbols speak for ${outputs[winner]}, red ones for ${outputs[runner]}.`;
    const rows = groups.map((group) => ({name: group.map((s) => sources[s]).join(blank(symbols)), sources: group, off: group.every((s) => off.has(s)),
      values: pair.map((output) => sum(group, output))}));
    column.replaceChildren(
      html('figcaption', {}, 'Contributions to ', ...pair.flatMap((output, j) => [j ? ' and ' : '', html('b', {class: j ? 'second' : 'first'}, '■ '), outputs[output]]), ', nats. Click a row to take it out of the sum.'),
      bars([...strongest(rows), {name: 'bias', off: false, values: pair.map(bias)}], {width: Math.min(width(), 760), onpick: (row) => toggle(row.sources)}));
  }

  /** The outputs to which a source contributes most, at the selected target. */
  function strongestOutputs(source) {
    const {outputs, others, value} = block;
    const termOf = (name, term) => `${name} ${term > 0 ? '+' : ''}${shown(term)}`;
    const values = outputs.map((name, o) => [name, value(source, o)]).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
    return [...values.slice(0, 5), ...(others ? [[others.name, value(source, outputs.length)]] : [])].map((one) => termOf(...one)).join(', ');
  }

  const byWord = html('button', {type: 'button', 'aria-pressed': String(words), onclick: () => {
    words = !words;
    state.words = words;
    byWord.setAttribute('aria-pressed', String(words));
    byWord.textContent = words ? 'By symbols' : 'By words';
    paint();
    page.remember();
  }}, words ? 'By symbols' : 'By words');
  const all = html('button', {type: 'button', onclick: () => { off.clear(); state.off = []; paint(); page.remember(); }}, 'Reset');
  body.replaceChildren(
    ...[page.slider(show)].filter(Boolean), html('label', {class: 'slider'}, 'Prediction', targets, chosen),
    html('p', {class: 'note'}, 'Click a symbol to take its term out of the sum. The network would read on differently without the symbol: its matrix still carries the earlier terms.'),
    html('div', {class: 'row'}, byWord, all),
    text, legend, prediction, left, html('div', {class: page.width() >= 900 ? 'two' : 'side'}, overview, column),
    page.downloads(() => overview.querySelector('svg'), () => rows(block, sources, state), 'contributions'),
  );
  await show();
}

/** Norms of all terms. */
function stack(whole, limit, sources, symbols, target, dark, onpick, detail, available) {
  const steps = symbols.length;
  const cell = Math.max(4, Math.min(26, Math.floor((available - 48) / steps)));
  const left = 40, top = 6, foot = 30;
  const width = left + steps * cell + 8, height = top + (steps + 1) * cell + foot;
  const root = svg('svg', {viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', style: 'max-width: none',
    'aria-label': `norms of the contributions of ${steps + 1} sources to ${steps} targets`});
  const shades = Float32Array.from(whole.values.subarray(0, (steps + 1) * steps), (value) => Math.sqrt(value / limit));
  const image = rasterImage({x: left, y: top, width: steps * cell, height: (steps + 1) * cell});
  image.setAttribute('href', raster(shades, steps + 1, steps, (value) => share(value, dark)));
  root.append(image, svg('rect', {x: left, y: top, width: steps * cell, height: (steps + 1) * cell, class: 'frame'}));
  const every = Math.max(1, Math.ceil(14 / cell));
  sources.forEach((name, s) => s % every === 0 && root.append(svg('text', {x: left - 6, y: top + s * cell + cell / 2 + 4, 'text-anchor': 'end'}, name)));
  symbols.forEach((name, t) => t % every === 0 && root.append(svg('text', {x: left + t * cell + cell / 2, y: height - foot + 16, 'text-anchor': 'middle'}, name)));
  const frame = svg('rect', {x: left + (target - 1) * cell, y: top, width: cell, height: (steps + 1) * cell, fill: 'none', class: 'chosen'});
  const tip = svg('title', {}, '');
  const place = (event) => {
    const box = root.getBoundingClientRect();
    const column = Math.floor((((event.clientX - box.left) / box.width) * width - left) / cell);
    const row = Math.floor((((event.clientY - box.top) / box.height) * height - top) / cell);
    return [Math.max(0, Math.min(steps - 1, column)), Math.max(0, Math.min(steps, row))];
  };
  root.append(frame, svg('rect', {x: left, y: top, width: steps * cell, height: (steps + 1) * cell, fill: 'transparent', class: 'pick',
    onclick: (event) => onpick(place(event)[0] + 1),
    onmousemove: (event) => {
      const [t, s] = place(event);
      tip.textContent = s > t + 1 ? `${sources[s]} is read later` : `${sources[s]} → after ${symbols[t]} (${t + 1}): norm ${shown(whole.values[s * steps + t])} nats${t + 1 === target ? `: ${detail(s)}` : ''}`;
    }}, tip));
  return root;
}

/** The terms of one target: names of the outputs that have one each, and what the others have together, if not all do. */
function blockOf({outputs, top}, {values}, target) {
  if (top === undefined) {
    const K = outputs.length;
    return {outputs, others: null, value: (source, output) => values[source * K + output], bias: (output) => values[(target + 1) * K + output]};
  }
  const count = outputs.length - top;
  return {
    outputs: [...values.subarray(0, top)].map((number) => outputs[number]),
    others: {count, name: `sum of ${count} others`, probability: values[top]},
    value: (source, output) => values[(source + 1) * (top + 2) + output],
    bias: (output) => values[(target + 2) * (top + 2) + output],
  };
}

function rows({outputs, others, value, bias}, sources, state) {
  const names = [...outputs, ...(others ? [others.name] : [])];
  const terms = sources.slice(0, state.index + 1).map((name, s) => [s, name, ...names.map((_, o) => value(s, o))]);
  const table = [...terms, ['', 'bias', ...names.map((_, o) => bias(o))]];
  return [['step', 'target', 'source', 'symbol', ...names], ...table.map((row) => [state.step, state.index, ...row])];
}
