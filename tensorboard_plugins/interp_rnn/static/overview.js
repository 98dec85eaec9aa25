// One card a run: what it says, in a sentence computed from its logs, and the place that shows more.

import {h, patch} from './render.js';
import {logging} from './texts.js';

export const title = 'Overview';
export const about = 'What every run says, in a sentence.';
export const example = logging;

const DRAWN = 6; // runs whose cards have drawings; of more, each has its sentences

export async function draw(body, page) {
  const found = new Map();
  const few = page.runs.length <= DRAWN;
  const width = Math.max(260, Math.min(page.width() - 34, 1000));
  const paint = () => patch(body, page.runs.map(({name}) => h('section', {class: 'card', key: name, 'data-run': name}, drawn(name))));

  function drawn(name) {
    const cards = found.get(name);
    if (!cards) return h('p', {class: 'loading'}, `Reading ${name} …`);
    if (!cards.length) return [h('h2', {class: 'headline'}, name), h('p', {class: 'note'}, 'Nothing of it can be drawn.')];
    return cards.map(({place, sentence, drawing, unit}, i) => h('div', {key: place},
      h(i ? 'h3' : 'h2', {class: 'headline'}, sentence),
      drawing && few ? h('figure', {}, drawing(width, scaleOf(place, unit))) : null,
      h('button', {type: 'button', class: 'more', 'aria-label': `${page.places[place].title} of ${name}`, onclick: () => page.go({place, run: name})}, `${page.places[place].title} ▸`)));
  }

  /** The largest bar of all runs whose bars have this unit: one scale for all. */
  const scaleOf = (place, unit) => Math.max(0, ...[...found.values()].flat().filter((card) => card.place === place && card.unit === unit).map(({largest}) => largest ?? 0));

  paint();
  for (const {name, of} of page.runs) {
    const cards = [];
    for (const [place, {card}] of Object.entries(page.places)) {
      if (!card) continue;
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
