// Where a page has its data from: a server, or a block of JSON (recording.py). Both answer the same questions.

import {unpacked} from './packed.js';

/** A request that failed. */
export class Refusal extends Error {
  constructor(text, status = null) {
    super(text);
    this.status = status;
  }
}

export const GONE = 404;

let pending = 0;

/** Fetches; the page is marked as busy until the last response has been read. */
export async function fetched(address, read) {
  pending += 1;
  document.body.setAttribute('aria-busy', 'true');
  try {
    const response = await fetch(address).catch((error) => { throw new Refusal(error.message); });
    if (!response.ok) throw new Refusal((await response.text()).slice(0, 300) || `status ${response.status}`, response.status);
    return await read(response);
  } finally {
    pending -= 1;
    if (!pending) setTimeout(() => pending || document.body.setAttribute('aria-busy', 'false'));
  }
}

export function json(path, values = {}) {
  return fetched(`./${path}?${new URLSearchParams(values)}`, (response) => response.json());
}

/** TensorBoard's server. */
export const server = {
  saves: true, // it makes pages that need no server
  tags: () => json('tags'),
  losses: () => json('losses'),
  series: (run, tag) => json('series', {run, tag}),
  graph: (run, tag, step) => json('graph', {run, tag, step}),
  texts: (run, tag, step) => json('texts', {run, tag, step}),
  slice: (run, tag, step, index = 0) => fetched(`./slice?${new URLSearchParams({run, tag, step, index: String(index)})}`, async (response) => ({
    shape: response.headers.get('X-Shape').split(',').map(Number),
    values: new Float32Array(await response.arrayBuffer()),
  })),
};

/** A block: run -> tag -> its kind, series, and of some steps all answers. losses: folder -> the last losses. */
export function recorded(runs, losses = {}) {
  const answer = async (run, tag, step, what) => {
    const found = runs[run]?.[tag]?.steps[step]?.[what];
    if (found === undefined) throw new Refusal(`The file has no ${what} of step ${step}.`);
    return found;
  };
  return {
    losses: async () => losses,
    tags: async () => Object.fromEntries(Object.entries(runs).map(([run, tags]) => [run, Object.entries(tags).map(([tag, {kind}]) => ({tag, kind}))])),
    series: async (run, tag) => {
      const {series, steps} = runs[run][tag];
      const places = [...series.steps.keys()].filter((i) => series.steps[i] in steps);
      return {...series, steps: places.map((i) => series.steps[i]), slices: steps[series.steps[places[0]]]?.slices?.map((one) => one !== null)};
    },
    graph: (run, tag, step) => answer(run, tag, step, 'graph'),
    texts: (run, tag, step) => answer(run, tag, step, 'texts'),
    slice: async (run, tag, step, index = 0) => {
      const part = (await answer(run, tag, step, 'slices'))[index];
      if (!part) throw new Refusal('The file leaves this part out: it would be too large.');
      return {shape: part.shape, values: await unpacked({dtype: 'f4', values: part.values})};
    },
  };
}
