// The tab's frame: which view, run, tag and step; loading, empty and error states; dark mode; reload.

import {downloads, html, saveText, stepSlider} from './charts.js';

/** Name -> the module ./NAME.js and the kinds that it shows: the server has the list. */
const VIEWS = {};
const PARAMETER = 'interp_rnn';

/** Of the first pane, with the view and, in `beside`, the state of a second pane of the same view. */
const state = {view: null, run: null, tag: null, step: null, index: null, beside: null};
let tags = {};
let turn = 0;

export async function start(document) {
  document.head.append(html('link', {rel: 'stylesheet', href: './style.css'}));
  document.documentElement.lang = 'en';
  try {
    const views = Object.entries(await json('./views'));
    const modules = await Promise.all(views.map(([name]) => import(`./${name}.js`)));
    views.forEach(([name, kinds], i) => (VIEWS[name] = {...modules[i], kinds}));
  } catch (error) {
    frame(message('error', `The page cannot be loaded: ${error.message}`));
    return;
  }
  Object.assign(state, remembered());
  watchLook(document);
  document.addEventListener('keydown', onKey);
  listenForReload();
  listenForRefusals();
  await refresh();
}

/** Requests the tags again and redraws the view. */
async function refresh(again = true) {
  try {
    tags = await json('./tags');
  } catch (error) {
    frame(message('error', `The tags cannot be read: ${error.message}`));
    return;
  }
  await draw(again);
}

/** The requested view; by default the first that has something to show. */
function chosen() {
  if (Object.hasOwn(VIEWS, state.view)) return state.view;
  return Object.keys(VIEWS).find((name) => logged(VIEWS[name]).length) ?? Object.keys(VIEWS)[0];
}

/** [run, tags] of a view. */
function logged(view) {
  return Object.entries(tags)
    .map(([run, entries]) => [run, entries.filter((entry) => entry.kind && view.kinds.includes(entry.kind))])
    .filter(([, entries]) => entries.length);
}

/** Draws the view; if its tag is gone and `again`, requests the tags and tries once more. */
async function draw(again = true) {
  const mine = ++turn;
  const name = chosen();
  const view = VIEWS[name];
  const runs = logged(view);
  const refused = Object.entries(tags).flatMap(([run, entries]) =>
    entries.filter((entry) => entry.error).map((entry) => `${run}/${entry.tag}: ${entry.error}`),
  );
  const notes = refused.map((text) => message('error', text));
  if (!runs.length) {
    frame(...notes, empty(view));
    return;
  }
  state.view = name;
  const panes = [state, state.beside].filter(Boolean);
  const sections = panes.map(() => html('section', {}));
  frame(...notes, html('div', {class: panes.length > 1 ? 'panes' : ''}, ...sections));
  try {
    await Promise.all(panes.map((pane, i) => drawPane(view, runs, pane, sections[i], () => mine === turn)));
    remember();
  } catch (error) {
    if (mine !== turn) return;
    if (again && error.status === GONE) await refresh(false);
    else {
      for (const waiting of document.querySelectorAll('.loading')) waiting.remove();
      sections[0].append(message('error', `This view cannot be drawn: ${error.message}`));
    }
  }
}

/** Draws one run and tag of a view, below the controls that choose them. */
async function drawPane(view, runs, pane, section, current) {
  const [run, entries] = runs.find(([name]) => name === pane.run) ?? runs[0];
  const entry = entries.find((one) => one.tag === pane.tag) ?? entries[0];
  Object.assign(pane, {run, tag: entry.tag});
  const change = (values) => {
    Object.assign(pane, values);
    remember();
    return draw();
  };
  const first = pane === state;
  const controls = html('div', {class: 'controls'},
    chooser('Run', runs.map(([name]) => name), run, (value) => change({run: value, tag: null, step: null, index: null})),
    entries.length > 1
      ? chooser('Tag', entries.map((one) => one.tag), entry.tag, (value) => change({tag: value, step: null, index: null}))
      : null,
    first && state.beside ? null : html('button', {type: 'button', class: 'beside',
      onclick: () => go({beside: first ? {...state, beside: null, run: (runs.find(([name]) => name !== run) ?? runs[0])[0], tag: null} : null}),
    }, first ? 'Side by side' : 'Close'),
  );
  const body = html('div', {class: 'view'}, message('loading', 'Reading …'));
  section.replaceChildren(controls, body);
  const series = await json(`./series?${query({run, tag: entry.tag})}`);
  if (!current()) return;
  for (const text of series.left_out) body.before(message('note', text));
  const {steps} = series;
  if (!steps.length) throw new Error('no step of this tag can be read');
  if (!steps.includes(pane.step)) pane.step = steps[steps.length - 1];
  await view.draw(body, {
    series, steps, state: pane, current, remember, go: change,
    runs: runs.map(([name]) => ({run: name})),
    seriesOfRun: (name) => json(`./series?${query({run: name, tag: runs.find(([other]) => other === name)[1][0].tag})}`),
    slice: (step, index) => slice(run, entry.tag, step, index),
    seriesOf: (tag) => json(`./series?${query({run, tag})}`),
    sliceOf: (tag, step, index = 0) => slice(run, tag, step, index),
    graph: (step) => json(`./graph?${query({run, tag: entry.tag, step})}`),
    texts: (tag, step) => json(`./texts?${query({run, tag, step})}`),
    related: (kind) => tags[run].find((one) => one.kind === kind)?.tag ?? null,
    slider: (onstep) => stepSlider(steps, pane, (step) => {
      remember();
      onstep(step);
    }),
    downloads: (...what) => {
      const row = downloads(...what);
      row.append(html('button', {type: 'button', onclick: saveAsHtml}, 'Save as HTML'));
      return row;
    },
    dark: () => document.documentElement.classList.contains('dark'),
    width: () => body.clientWidth,
  });
}

/** Saves what is looked at, all panes, as one file that needs no server. */
async function saveAsHtml() {
  const panes = [state, state.beside].filter(Boolean).map(({view, beside, ...pane}) => pane);
  const runs = logged(VIEWS[state.view]);
  const overlays = (state.over ?? []).flatMap((name) => {
    const found = runs.find(([run]) => run === name);
    return found ? [{run: name, tag: found[1][0].tag}] : [];
  });
  const asked = query({view: state.view, panes: JSON.stringify(panes), overlays: JSON.stringify(overlays)});
  try {
    saveText(await fetched(`./page?${asked}`, (response) => response.text()), `${state.view}.html`, 'text/html');
  } catch (error) {
    document.querySelector('main').prepend(message('error', `The page cannot be saved: ${error.message}`));
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
        role: 'tab', type: 'button', class: logged(view).length ? null : 'nothing', title: logged(view).length ? view.about : `${view.about} Nothing is logged yet.`, 'aria-selected': String(name === current), 'data-view': name,
        onclick: () => go({view: name, run: null, tag: null, step: null, index: null, beside: null}),
      }, view.title),
    ),
  );
  document.body.replaceChildren(bar, html('main', {}, ...children));
}

function empty(view) {
  return html('section', {class: 'empty'},
    html('h2', {}, `No ${view.title.toLowerCase()} logged yet`),
    html('p', {}, view.about),
    html('p', {}, 'Log them with a callback of ', html('code', {}, 'keras_interp_rnn'), ':'),
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

/** Arrow keys move the slider wherever the focus is. */
function onKey(event) {
  if (!['ArrowLeft', 'ArrowRight'].includes(event.key) || event.target.closest('input, select, button')) return;
  const input = document.querySelector('input.steps');
  if (!input) return;
  input.value = String(Number(input.value) + (event.key === 'ArrowRight' ? 1 : -1));
  input.dispatchEvent(new Event('input'));
}

function query(values) {
  return new URLSearchParams(values).toString();
}

let pending = 0;

const GONE = 404;

/** A request that failed. */
class Refusal extends Error {
  constructor(text, status = null) {
    super(text);
    this.status = status;
  }
}

/** Fetches; the page is marked as busy until the last response has been read. */
async function fetched(address, read) {
  pending += 1;
  document.body.setAttribute('aria-busy', 'true');
  try {
    const response = await fetch(address).catch((error) => { throw new Refusal(error.message); });
    if (!response.ok) throw new Refusal(await reason(response), response.status);
    return await read(response);
  } finally {
    pending -= 1;
    if (!pending) setTimeout(() => pending || document.body.setAttribute('aria-busy', 'false'));
  }
}

function json(address) {
  return fetched(address, (response) => response.json());
}

function slice(run, tag, step, index) {
  return fetched(`./slice?${query({run, tag, step, index: index ?? 0})}`, async (response) => ({
    shape: response.headers.get('X-Shape').split(',').map(Number),
    values: new Float32Array(await response.arrayBuffer()),
  }));
}

async function reason(response) {
  const text = await response.text();
  return text.slice(0, 300) || `status ${response.status}`;
}

// The state of the page is kept in the address of TensorBoard's own page, so that a link restores it.

const text = (value) => typeof value === 'string';
const integer = (value) => Number.isInteger(value);
const flag = (value) => typeof value === 'boolean';
const listOf = (holds) => (value) => Array.isArray(value) && value.every(holds);

/** What a link may hold of a pane. Other entries, and entries of another type, are ignored. */
const KEPT = {
  run: text, tag: text, step: integer, index: integer, centroid: integer, unit: integer, token: integer,
  off: listOf(integer), over: listOf(text), words: flag, logarithmic: flag,
  threshold: (value) => value >= 0 && value <= 1 && typeof value === 'number',
};

function remembered() {
  try {
    const kept = JSON.parse(new URLSearchParams(window.parent.location.search).get(PARAMETER) ?? '{}') ?? {};
    const view = text(kept.view) && Object.hasOwn(VIEWS, kept.view) ? kept.view : null;
    return {...paneIn(kept), view, beside: kept.beside ? paneIn(kept.beside) : null};
  } catch {
    return {};
  }
}

function paneIn(kept) {
  return Object.fromEntries(Object.entries(KEPT)
    .filter(([name, holds]) => Object.hasOwn(kept, name) && holds(kept[name]))
    .map(([name]) => [name, kept[name]]));
}

let noting;

/** Writes the state to the address, a moment after the last change. */
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
    // Not inside TensorBoard, or of another origin: there is no address to write to.
  }
}

/** Draws again where dark mode or the width of the window changes. */
function watchLook(document) {
  const host = window.parent.document.body;
  const apply = () => {
    const dark = host !== document.body && host.classList.contains('dark-mode');
    if (dark === document.documentElement.classList.contains('dark')) return;
    document.documentElement.classList.toggle('dark', dark);
    if (turn) draw();
  };
  apply();
  let width = window.innerWidth;
  let resizing;
  window.addEventListener('resize', () => {
    clearTimeout(resizing);
    resizing = setTimeout(() => {
      if (window.innerWidth === width) return;
      width = window.innerWidth;
      if (turn) draw();
    }, 200);
  });
  new MutationObserver(apply).observe(host, {attributes: true, attributeFilter: ['class']});
}

/** A request of a view may fail after it was drawn, at a click or a step: the page is then refreshed, or says why not. */
function listenForRefusals() {
  window.addEventListener('unhandledrejection', (event) => {
    if (!(event.reason instanceof Refusal)) return;
    event.preventDefault();
    refresh();
  });
}

/** TensorBoard posts a message to plugins when it has reloaded its data. */
function listenForReload() {
  window.addEventListener('message', (event) => {
    if (event.source !== window.parent) return;
    const text = typeof event.data === 'string' ? event.data : JSON.stringify(event.data ?? '');
    if (text.includes('experimental.DataReloaded')) refresh();
  });
}
