// A view in a file of its own: its data are a block of JSON in the file (recording.py), and there is no server.

import {downloads, html, stepSlider} from './charts.js';

/** Draws a view over what the file shows without scripts: each recorded tag in a pane. */
export async function open(view) {
  const {panes, overlays = {}} = JSON.parse(document.getElementById('data').textContent);
  const place = document.querySelector('main > .scroll');
  const without = [...place.childNodes];
  const preferred = window.matchMedia('(prefers-color-scheme: dark)');
  const several = panes.length > 1;
  let turn = 0;
  const draw = async () => {
    const mine = ++turn;
    document.documentElement.classList.toggle('dark', preferred.matches);
    const bodies = panes.map(() => html('div', {class: 'view'}));
    const folded = html('details', {}, html('summary', {}, 'Without interaction'), ...without);
    place.replaceChildren(html('div', {class: several ? 'panes' : ''}, ...panes.map(({run, tags}, i) => html('section', {},
      several ? html('h2', {}, `${run || '.'} ${Object.keys(tags)[0]}`) : null, bodies[i]))), folded);
    try {
      await Promise.all(panes.map((pane, i) => view.draw(bodies[i], context(pane, overlays, bodies[i], () => mine === turn, draw))));
    } catch (error) {
      place.replaceChildren(...without);
      throw error;
    }
  };
  preferred.addEventListener('change', draw);
  let width = window.innerWidth;
  window.addEventListener('resize', () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    draw();
  });
  await draw();
}

/** What a view asks of the page around it, answered from the block. */
function context({run, state, tags}, overlays, body, current, draw) {
  const [tag] = Object.keys(tags);
  const {series, steps} = tags[tag];
  const recorded = series.steps.filter((step) => step in steps);
  const nearest = (step) => recorded.reduce((best, one) => (Math.abs(one - step) < Math.abs(best - step) ? one : best));
  state.run = run;
  state.step = nearest(state.step ?? recorded[recorded.length - 1]);
  const answer = async (name, step, what) => {
    const found = tags[name]?.steps[step]?.[what];
    if (found === undefined) throw new Error(`The file has no ${what} of step ${step}.`);
    return found;
  };
  const sliceOf = async (name, step, index = 0) => decoded((await answer(name, step, 'slices'))[index]);
  return {
    series, state, steps: recorded, current, downloads,
    runs: [run, ...Object.keys(overlays)].map((name) => ({run: name})),
    seriesOfRun: async (name) => overlays[name] ?? series,
    slice: (step, index) => sliceOf(tag, step, index),
    sliceOf,
    seriesOf: async (name) => tags[name].series,
    graph: (step) => answer(tag, step, 'graph'),
    texts: (name, step) => answer(name, step, 'texts'),
    related: (kind) => Object.keys(tags).find((name) => name !== tag && tags[name].kind === kind) ?? null,
    slider: (onstep) => stepSlider(recorded, state, onstep),
    go: (change) => {
      Object.assign(state, change);
      return draw();
    },
    remember: () => {},
    dark: () => document.documentElement.classList.contains('dark'),
    width: () => body.clientWidth,
  };
}

function decoded({shape, values}) {
  const bytes = Uint8Array.from(atob(values), (letter) => letter.charCodeAt(0));
  return {shape, values: new Float32Array(bytes.buffer)};
}
