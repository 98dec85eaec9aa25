// The tab's frame: which view, run, tag and step; loading, empty and error states; dark mode; reload.

import {html, saveCsv, savePng, saveSvg} from './charts.js';
import * as contributions from './contributions.js';
import * as jacobians from './jacobians.js';
import * as states from './states.js';
import * as transitions from './transitions.js';

const VIEWS = {states, transitions, contributions, jacobians};
const PARAMETER = 'interp_rnn';

const FIRST = 'states';

const state = {view: null, run: null, tag: null, step: null, index: null};
let tags = {};
let turn = 0;

export async function start(document) {
  document.head.append(html('link', {rel: 'stylesheet', href: './style.css'}));
  document.documentElement.lang = 'en';
  Object.assign(state, remembered());
  watchDarkMode(document);
  document.addEventListener('keydown', onKey);
  listenForReload();
  listenForRefusals();
  await refresh();
}

/** Asks for the tags again and draws the view anew. */
async function refresh(again = true) {
  try {
    tags = await json('./tags');
  } catch (error) {
    frame(message('error', `The tags cannot be read: ${error.message}`));
    return;
  }
  await draw(again);
}

/** The view that was asked for; without one the first that has something to show. */
function chosen() {
  if (Object.hasOwn(VIEWS, state.view)) return state.view;
  return Object.keys(VIEWS).find((name) => logged(VIEWS[name]).length) ?? FIRST;
}

/** [run, tags] of a view. */
function logged(view) {
  return Object.entries(tags)
    .map(([run, found]) => [run, found.filter((entry) => entry.kind && view.kinds.includes(entry.kind))])
    .filter(([, found]) => found.length);
}

/** Draws the view; if what it asks for is no longer there, and `again`, once more from the tags that are. */
async function draw(again = true) {
  const mine = ++turn;
  const name = chosen();
  const view = VIEWS[name];
  const runs = logged(view);
  const refused = Object.entries(tags).flatMap(([run, found]) =>
    found.filter((entry) => entry.error).map((entry) => `${run}/${entry.tag}: ${entry.error}`),
  );
  const notes = refused.map((text) => message('error', text));
  if (!runs.length) {
    frame(...notes, empty(view));
    return;
  }
  const [run, found] = runs.find(([name]) => name === state.run) ?? runs[0];
  const entry = found.find((one) => one.tag === state.tag) ?? found[0];
  Object.assign(state, {view: name, run, tag: entry.tag});
  remember();
  const controls = html('div', {class: 'controls'},
    chooser('Run', runs.map(([name]) => name), run, (value) => go({run: value, tag: null, step: null, index: null})),
    found.length > 1
      ? chooser('Tag', found.map((one) => one.tag), entry.tag, (value) => go({tag: value, step: null, index: null}))
      : null,
  );
  const body = html('div', {class: 'view', 'aria-live': 'polite'}, message('loading', 'Reading …'));
  frame(...notes, controls, body);
  try {
    const series = await json(`./series?${query({run, tag: entry.tag})}`);
    if (mine !== turn) return;
    for (const text of series.left_out) body.before(message('note', text));
    if (!series.steps.length) throw new Error('no step of this tag can be read');
    const steps = series.steps;
    if (!steps.includes(state.step)) state.step = steps[steps.length - 1];
    await view.draw(body, {
      series, state, runs: runs.map(([name, list]) => ({run: name, tags: list})), go, json, query, remember,
      slice: (step, index) => slice(run, entry.tag, step, index),
      seriesOf: (tag) => json(`./series?${query({run, tag})}`),
      sliceOf: (tag, step) => slice(run, tag, step, 0),
      graph: (step) => json(`./graph?${query({run, tag: entry.tag, step})}`),
      texts: (tag, step) => json(`./texts?${query({run, tag, step})}`),
      related: (kind) => tags[run].find((one) => one.kind === kind)?.tag ?? null,
      slider: (onstep) => slider(steps, onstep),
      downloads: (drawing, rows, name) => downloads(drawing, rows, name),
      dark: () => document.documentElement.classList.contains('dark'),
      current: () => mine === turn,
    });
  } catch (error) {
    if (mine !== turn) return;
    if (again && error.status === GONE) await refresh(false);
    else body.replaceChildren(message('error', `This view cannot be drawn: ${error.message}`));
  }
}

function go(change) {
  Object.assign(state, change);
  remember();
  return draw();
}

function frame(...children) {
  const current = chosen();
  const bar = html('nav', {role: 'tablist', 'aria-label': 'Views'},
    ...Object.entries(VIEWS).map(([name, view]) =>
      html('button', {
        role: 'tab', type: 'button', 'aria-selected': String(name === current), 'data-view': name,
        onclick: () => go({view: name, run: null, tag: null, step: null, index: null}),
      }, view.title),
    ),
  );
  document.body.replaceChildren(bar, html('main', {}, ...children));
}

function empty(view) {
  return html('section', {class: 'empty'},
    html('h2', {}, `No ${view.title.toLowerCase()} logged yet`),
    html('p', {}, view.about),
    html('p', {}, 'Write them by a callback of ', html('code', {}, 'keras_interp_rnn'), ', for example:'),
    html('pre', {}, html('code', {}, view.example)),
  );
}

function message(kind, text) {
  return html('p', {class: kind, role: kind === 'error' ? 'alert' : 'status'}, text);
}

function chooser(label, options, chosen, onchange) {
  const select = html('select', {onchange: (event) => onchange(event.target.value)},
    ...options.map((name) => html('option', {value: name, selected: name === chosen ? '' : null}, name || '.')),
  );
  return html('label', {}, `${label} `, select);
}

/** A slider over the steps that are there; arrow keys move it wherever the focus is. */
function slider(steps, onstep) {
  const output = html('output', {}, `step ${state.step}`);
  const input = html('input', {
    type: 'range', min: 0, max: steps.length - 1, step: 1, 'aria-label': 'training step', class: 'steps',
    oninput: () => {
      state.step = steps[Number(input.value)];
      output.textContent = `step ${state.step}`;
      input.setAttribute('aria-valuetext', output.textContent);
      remember();
      onstep(state.step);
    },
  });
  input.value = String(steps.indexOf(state.step));
  return html('label', {class: 'slider'}, input, output);
}

function onKey(event) {
  if (!['ArrowLeft', 'ArrowRight'].includes(event.key) || event.target.closest('input, select, button')) return;
  const input = document.querySelector('input.steps');
  if (!input) return;
  input.value = String(Number(input.value) + (event.key === 'ArrowRight' ? 1 : -1));
  input.dispatchEvent(new Event('input'));
}

function downloads(drawing, rows, name) {
  return html('div', {class: 'downloads'},
    html('button', {type: 'button', onclick: () => saveSvg(drawing(), name)}, 'Drawing (SVG)'),
    html('button', {type: 'button', onclick: () => savePng(drawing(), name)}, 'Drawing (PNG)'),
    html('button', {type: 'button', onclick: () => saveCsv(rows(), name)}, 'Numbers (CSV)'),
  );
}

function query(values) {
  return new URLSearchParams(values).toString();
}

let asked = 0;

const GONE = 404;

/** An answer that was not given. */
class Refusal extends Error {
  constructor(text, status = null) {
    super(text);
    this.status = status;
  }
}

/** Fetches; the page is marked as busy until the last answer has been read. */
async function answered(address, read) {
  asked += 1;
  document.body.setAttribute('aria-busy', 'true');
  try {
    const response = await fetch(address).catch((error) => { throw new Refusal(error.message); });
    if (!response.ok) throw new Refusal(await reason(response), response.status);
    return await read(response);
  } finally {
    asked -= 1;
    if (!asked) setTimeout(() => asked || document.body.setAttribute('aria-busy', 'false'));
  }
}

function json(address) {
  return answered(address, (response) => response.json());
}

function slice(run, tag, step, index) {
  return answered(`./slice?${query({run, tag, step, index: index ?? 0})}`, async (response) => ({
    shape: response.headers.get('X-Shape').split(',').map(Number),
    values: new Float32Array(await response.arrayBuffer()),
  }));
}

async function reason(response) {
  const text = await response.text();
  return text.slice(0, 300) || `status ${response.status}`;
}

// What is looked at stays in the address of TensorBoard's own page, so that a link shows it again.

const text = (value) => typeof value === 'string';
const integer = (value) => Number.isInteger(value);
const flag = (value) => typeof value === 'boolean';
const listOf = (holds) => (value) => Array.isArray(value) && value.every(holds);

/** What may stand in a link: anything else in it, and what is of another kind, is passed over. */
const KEPT = {
  view: (value) => text(value) && Object.hasOwn(VIEWS, value),
  run: text, tag: text, step: integer, index: integer, centroid: integer,
  off: listOf(integer), over: listOf(text), words: flag, logarithmic: flag,
  threshold: (value) => value >= 0 && value <= 1 && typeof value === 'number',
};

function remembered() {
  try {
    const found = JSON.parse(new URLSearchParams(window.parent.location.search).get(PARAMETER) ?? '{}') ?? {};
    return Object.fromEntries(Object.entries(KEPT)
      .filter(([name, holds]) => Object.hasOwn(found, name) && holds(found[name]))
      .map(([name]) => [name, found[name]]));
  } catch {
    return {};
  }
}

let noting;

/** Notes it, a moment after the last change. */
function remember() {
  clearTimeout(noting);
  noting = setTimeout(note, 150);
}

function note() {
  try {
    const address = new URL(window.parent.location.href);
    address.searchParams.set(PARAMETER, JSON.stringify(state));
    window.parent.history.replaceState(window.parent.history.state, '', address);
  } catch {
    // A page of its own, or one of another origin: nothing to keep it in.
  }
}

function watchDarkMode(document) {
  const host = window.parent.document.body;
  const apply = () => {
    const dark = host !== document.body && host.classList.contains('dark-mode');
    if (dark === document.documentElement.classList.contains('dark')) return;
    document.documentElement.classList.toggle('dark', dark);
    if (turn) draw();
  };
  apply();
  new MutationObserver(apply).observe(host, {attributes: true, attributeFilter: ['class']});
}

/** What a view asked for in vain after it was drawn, at a click or a step: it is drawn anew, or says why it cannot be. */
function listenForRefusals() {
  window.addEventListener('unhandledrejection', (event) => {
    if (!(event.reason instanceof Refusal)) return;
    event.preventDefault();
    refresh();
  });
}

/** TensorBoard posts to plugins when its data were read again. */
function listenForReload() {
  window.addEventListener('message', (event) => {
    if (event.source !== window.parent) return;
    const text = typeof event.data === 'string' ? event.data : JSON.stringify(event.data ?? '');
    if (text.includes('experimental.DataReloaded')) refresh();
  });
}
