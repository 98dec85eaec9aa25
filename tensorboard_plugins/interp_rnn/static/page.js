// The page: which place, run, step and text; runs with a search; loading, empty and error states.

import {html} from './charts.js';
import {h, patch} from './render.js';
import {csvOf, fileOf, passing, saveText} from './saving.js';
import {fetched, GONE, Refusal} from './sources.js';
import {withTips} from './tips.js';

/** What is looked at. It stays when the place is changed; what of it a link may hold is in KEPT. */
const state = {place: null, run: null};
const FEW = 8; // runs, up to which a list needs no search

let places = {};
let source = null;
let host = null;
let tags = {};
let turn = 0;
let search = '';
let slider = null;
let player = null;

/** Opens the page.
 * given.places: name -> module, with the kinds that it shows; overview is the place of all runs. given.source: `sources.js`.
 * given.folders: of callbacks, whose runs belong to the run of the folder above. given.host: what is around the page:
 * title, lead, kept (a state), remember (the state), link (to it), note, csv (the file of numbers that is saved, in place of what is drawn). */
export async function start(given) {
  ({places, source, host} = given);
  host.folders = given.folders;
  Object.assign(state, keptIn(host.kept ?? {}));
  withTips(document.body);
  document.addEventListener('keydown', onKey);
  window.addEventListener('unhandledrejection', (event) => {
    if (!(event.reason instanceof Refusal)) return;
    event.preventDefault();
    refresh();
  });
  redrawAtWidths();
  await refresh();
}

/** Requests the tags again and redraws. */
export async function refresh(again = true) {
  try {
    tags = await source.tags();
  } catch (error) {
    frame(message('error', `The tags cannot be read: ${error.message}`));
    return;
  }
  await draw(again);
}

/** Reads from another source from now on; note: what stands above every place. */
export function follow(other, note) {
  [source, host.note] = [other, note];
}

export function redraw() {
  return turn ? draw() : null;
}

/** Name of a run -> its tags: [{run, tag, kind}], of all folders of callbacks in its folder. */
function runs() {
  const found = new Map();
  for (const [folder, entries] of Object.entries(tags).sort(([a], [b]) => a.localeCompare(b, undefined, {numeric: true}))) {
    const parts = folder.split('/');
    const name = host.folders.includes(parts[parts.length - 1]) ? parts.slice(0, -1).join('/') || '.' : folder;
    const known = entries.filter(({kind}) => kind).map((entry) => ({...entry, run: folder}));
    if (known.length) found.set(name, [...(found.get(name) ?? []), ...known]);
  }
  return found;
}

const shows = (place, entries) => entries.filter(({kind}) => places[place].kinds.includes(kind));

/** The first place that shows something of a run. */
const placeOf = (entries) => Object.keys(places).find((name) => shows(name, entries).length);

/** The place that is looked at: the one that was chosen, or the first; of a single run with a single place that one. */
function chosenPlace() {
  if (Object.hasOwn(places, state.place)) return state.place;
  const all = [...runs().values()];
  const logged = all.length === 1 ? Object.keys(places).filter((name) => shows(name, all[0]).length) : [];
  return logged.length === 1 ? logged[0] : Object.keys(places)[0];
}

/** The run that is looked at: the one that was chosen, or the first with something to show. */
function chosenRun(all, place) {
  if (all.has(state.run)) return state.run;
  return [...all.keys()].find((name) => shows(place, all.get(name)).length) ?? all.keys().next().value;
}

/** Draws the place; if what it shows is gone and `again`, requests the tags and tries once more. */
async function draw(again = true) {
  const mine = ++turn;
  const all = runs();
  state.place = chosenPlace();
  const place = places[state.place];
  slider = null;
  const overall = !place.kinds.length;
  run = overall ? null : chosenRun(all, state.place) ?? null;
  const entries = overall ? [] : shows(state.place, all.get(run) ?? []);
  const body = html('div', {class: 'view'});
  const refused = Object.entries(tags).flatMap(([run, list]) => list.filter(({error}) => error).map(({tag, error}) => `${run}/${tag}: ${error}`));
  const notes = [host.note, ...refused.map((text) => message('error', text))];
  if (!(overall ? all.size : entries.length)) {
    frame(notes, empty(place, all.size));
    return;
  }
  body.append(html('p', {class: 'loading', role: 'status'}, 'Reading …'));
  frame(notes, body);
  try {
    const page = await pageOf(run, entries, body, () => mine === turn);
    if (mine !== turn) return;
    const rank = (list) => Object.keys(places).indexOf(placeOf(list));
    if (overall) page.runs = [...all].sort(([, a], [, b]) => rank(a) - rank(b)).map(([name, list]) => ({name, of: (other) => pageOf(name, shows(other, list), body, () => mine === turn)}));
    frame(notes, page.entries?.length > 1 && !place.several ? tagChooser(page) : null,
      (page.series?.left_out ?? []).map((text) => message('note', text)), body);
    await place.draw(body, page);
    if (mine !== turn) return;
    frameAgain();
    remember();
  } catch (error) {
    if (mine !== turn) return;
    if (again && error.status === GONE) await refresh(false);
    else body.replaceChildren(html('p', {class: 'error', role: 'alert'}, `This cannot be drawn: ${error.message}`));
  }
}

/** What a place asks of the page around it. */
async function pageOf(name, entries, body, current) {
  const find = (tag) => entries.find((one) => one.tag === tag) ?? runs().get(name)?.find((one) => one.tag === tag);
  const entry = find(state.tag) && entries.includes(find(state.tag)) ? find(state.tag) : entries[0];
  const page = {
    state, places, run: name, entries, entry, current, remember,
    title: ['', '.'].includes(name) ? '' : name, // a network that is looked at by itself has no name
    read: (one) => source.series(one.run, one.tag),
    part: (one, step, index) => source.slice(one.run, one.tag, step, index),
    seriesOf: (tag) => page.read(find(tag)),
    sliceOf: (tag, step, index) => page.part(find(tag), step, index),
    slice: (step, index) => page.part(entry, step, index),
    graph: (step) => source.graph(entry.run, entry.tag, step),
    texts: (tag, step) => source.texts(find(tag).run, tag, step),
    related: (kind) => runs().get(name)?.find((one) => one.kind === kind)?.tag ?? null,
    losses: source.losses,
    everywhere: () => [...runs()].map(([other, list]) => ({name: other, entries: shows(state.place, list)})).filter((one) => one.entries.length),
    go: (change) => {
      Object.assign(state, change);
      remember();
      return draw();
    },
    slider: (onstep, steps = page.steps) => {
      state.step = nearest(steps, state.step);
      slider = steps.length > 1 ? {steps, onstep} : null;
    },
    downloads: (drawings, rows, {file, python = null}) => passing({
      drawings, rows, python, file: fileOf(file), csv: () => host.csv ?? csvOf(rows()), title: () => body.querySelector('.headline')?.textContent ?? '',
      name: [name, host.title ?? 'Interpretable RNN'].filter((one) => !['', '.'].includes(one)).join(' · '),
      more: {copy: h('button', {type: 'button', 'aria-label': 'Copy link', onclick: copyLink}, 'link'),
        save: source.saves ? h('button', {type: 'button', 'aria-label': 'Save as HTML', onclick: () => saveAsHtml(fileOf(file))}, 'HTML') : null},
    }),
    width: () => body.clientWidth,
  };
  if (entry && !places[state.place].several && places[state.place].kinds.length) {
    page.series = await page.read(entry);
    page.steps = page.series.steps;
    if (!page.steps.length) throw new Error('no step of this tag can be read');
    state.step = nearest(page.steps, state.step);
  }
  return page;
}

/** The step nearest to one; the last where there is none. */
export function nearest(steps, step) {
  const last = steps[steps.length - 1];
  return Number.isFinite(step) ? steps.reduce((best, one) => (Math.abs(one - step) < Math.abs(best - step) ? one : best), last) : last;
}

let framed = [];
let run = null; // the one that is shown; state.run is the one that was chosen

function frame(...children) {
  framed = children;
  frameAgain();
}

/** Draws what is around the place. */
function frameAgain() {
  const {title} = places[chosenPlace()];
  const several = Object.keys(places).length > 1;
  if (!host.title) document.title = `${title}${run ? `: ${run}` : ''} – Interpretable RNN`;
  patch(document.body,
    h('header', {},
      h('h1', {}, host.title ?? 'Interpretable RNN'),
      several ? h('nav', {role: 'tablist', 'aria-label': 'Places', onkeydown: onTabKey}, Object.keys(places).map(tab)) : null,
      stepBar()),
    h('div', {class: 'page'},
      host.title && runs().size < 2 ? null : rail(),
      h('main', {}, h('div', {id: 'place', role: several ? 'tabpanel' : null, 'aria-label': several ? title : null}, host.lead ? h('p', {class: 'lead'}, host.lead) : null, framed))));
}

function tab(name) {
  const {title, about, kinds} = places[name];
  const logged = !kinds.length || [...runs().values()].some((entries) => shows(name, entries).length);
  const chosen = name === chosenPlace();
  return h('button', {key: name, role: 'tab', type: 'button', class: logged ? null : 'nothing', 'aria-selected': String(chosen), 'aria-controls': 'place',
    tabindex: chosen ? 0 : -1, 'data-view': name, 'data-tip': logged ? about : `${about} Nothing is logged yet.`, onclick: () => go({place: name})}, title);
}

function onTabKey(event) {
  const tabs = [...event.currentTarget.children];
  const at = tabs.indexOf(document.activeElement);
  const to = {ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: tabs.length - 1}[event.key];
  if (to === undefined) return;
  event.preventDefault();
  const next = tabs[(to + tabs.length) % tabs.length];
  next.focus();
  next.click();
}

/** The runs, with a search where there are many. */
function rail() {
  const names = [...runs().keys()];
  const found = names.filter((name) => name.toLowerCase().includes(search.toLowerCase()));
  return h('aside', {'aria-label': 'Runs'},
    h('h2', {}, names.length === 1 ? 'Run' : `${names.length} runs`),
    names.length > FEW ? h('input', {type: 'search', 'aria-label': 'search runs', placeholder: 'Search', value: search, oninput: (event) => {
      search = event.target.value;
      frameAgain();
    }}) : null,
    h('ul', {}, found.map((name) => h('li', {key: name}, h('button', {type: 'button', 'aria-pressed': String(name === run), 'data-run': name,
      onclick: () => go({run: name, tag: null, ...(run === null ? {place: placeOf(runs().get(name))} : {})})},
    h('span', {class: 'key', style: `background: ${colourOf(name)}`}), name)))),
    found.length ? null : h('p', {class: 'note'}, 'No run has this in its name.'));
}

export function colourOf(run) {
  return `var(--line-${[...runs().keys()].indexOf(run) % 6})`;
}

/** One slider for all that a place shows, and a button that plays the steps. */
function stepBar() {
  if (!slider) return null;
  const {steps} = slider;
  const at = steps.indexOf(state.step);
  return h('div', {class: 'slider'},
    h('label', {}, 'Step ', h('input', {type: 'range', class: 'steps', min: 0, max: steps.length - 1, step: 1, value: String(at), 'aria-label': 'training step',
      'aria-valuetext': `step ${state.step}`, oninput: (event) => toStep(Number(event.target.value))})),
    h('output', {}, `${state.step} of ${steps[steps.length - 1]}`),
    h('button', {type: 'button', onclick: play}, player === null ? 'Play' : 'Stop'));
}

function toStep(place) {
  state.step = slider.steps[place];
  remember();
  frameAgain();
  return slider.onstep(state.step);
}

function play() {
  const stop = () => {
    clearInterval(player);
    player = null;
    frameAgain();
  };
  if (player !== null) return stop();
  let at = slider.steps.indexOf(state.step);
  if (at === slider.steps.length - 1) at = -1;
  const {steps} = slider;
  player = setInterval(() => {
    at += 1;
    if (slider?.steps !== steps || at >= steps.length) return stop(); // another place, or the end
    toStep(at);
  }, 400);
  frameAgain();
}

function tagChooser(page) {
  return h('label', {class: 'controls'}, 'Tag ', h('select', {value: page.entry.tag, onchange: (event) => go({tag: event.target.value})},
    page.entries.map(({tag: name}) => h('option', {value: name}, name))));
}

function go(change) {
  Object.assign(state, change);
  remember();
  return draw();
}

function empty(place, others) {
  const name = place.title.toLowerCase();
  return h('section', {class: 'empty'},
    h('h2', {}, others && run ? `Nothing for ${name} is logged in ${run}` : `Nothing for ${name} is logged yet`),
    h('p', {}, place.about),
    h('p', {}, 'Log it with a callback of ', h('code', {}, 'keras_interp_rnn'), ':'),
    h('pre', {tabindex: 0}, h('code', {}, place.example)));
}

function message(kind, text) {
  return h('p', {class: kind, role: kind === 'error' ? 'alert' : 'status'}, text);
}

/** Saves what is looked at as one file that needs no server. */
async function saveAsHtml(file) {
  const entries = runs().get(run).filter(({kind}) => places[state.place].kinds.includes(kind) || places[state.place].beside?.includes(kind));
  const all = places[state.place].everywhere ? [...runs().values()].flatMap((list) => shows(state.place, list)) : entries;
  const asked = new URLSearchParams({view: state.place, state: JSON.stringify(keptIn(state)), tags: JSON.stringify(all.map(({run, tag: name}) => ({run, tag: name})))});
  try {
    saveText(await fetched(`./page?${asked}`, (response) => response.text()), `${file}.html`, 'text/html');
  } catch (error) {
    frame(framed, message('error', `The page cannot be saved: ${error.message}`));
  }
}

/** Arrow keys move the slider wherever the focus is on nothing that uses them. */
function onKey(event) {
  if (!slider || !['ArrowLeft', 'ArrowRight'].includes(event.key) || event.target.closest('input, select, button, [tabindex]')) return;
  const at = slider.steps.indexOf(state.step) + (event.key === 'ArrowRight' ? 1 : -1);
  if (at in slider.steps) toStep(at);
}

const text = (value) => typeof value === 'string';
const integer = (value) => Number.isInteger(value);
const flag = (value) => typeof value === 'boolean';

/** What a link may hold of the state. Other entries, and entries of another type, are ignored. */
const KEPT = {
  place: text, run: text, tag: text, text, word: text, method: text, up: text, down: text, instead: text, other: text, order: text, group: text, words: flag, merged: flag, logarithmic: flag,
  ...Object.fromEntries(['step', 'target', 'picked', 'index', 'token', 'centroid', 'unit', 'at', 'lag'].map((name) => [name, integer])),
  threshold: (value) => value >= 0 && value <= 1 && typeof value === 'number',
};

function keptIn(kept) {
  return Object.fromEntries(Object.entries(KEPT)
    .filter(([name, holds]) => Object.hasOwn(kept, name) && holds(kept[name]))
    .map(([name]) => [name, kept[name]]));
}

let noting;

/** Copies a link to what is looked at; where the page may not copy, the button has it to be copied. */
async function copyLink({currentTarget: button}) {
  clearTimeout(noting);
  host.remember?.(keptIn(state));
  try {
    await navigator.clipboard.writeText(host.link());
    button.textContent = 'link ✓';
    button.setAttribute('aria-label', 'Copied link');
  } catch {
    button.replaceWith(html('input', {class: 'link', readonly: '', value: host.link(), 'aria-label': 'Link to this', onfocus: (event) => event.currentTarget.select()}));
  }
}

/** Writes the state to where the page is kept, a moment after the last change. */
function remember() {
  clearTimeout(noting);
  noting = setTimeout(() => host.remember?.(keptIn(state)), 150);
}

function redrawAtWidths() {
  let width = window.innerWidth;
  let resizing;
  window.addEventListener('resize', () => {
    clearTimeout(resizing);
    resizing = setTimeout(() => {
      if (window.innerWidth === width) return;
      width = window.innerWidth;
      redraw();
    }, 200);
  });
}
