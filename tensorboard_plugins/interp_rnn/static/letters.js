// Names as people read them: what counts as one letter, in which direction it is written, and what a sign is called.

const SPOKEN = {'␣': 'space', '⏎': 'new line', '⇥': 'tab'};
const LETTERS = new Intl.Segmenter(undefined, {granularity: 'grapheme'});
const FROM_THE_RIGHT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;
const [ISOLATED, END] = ['\u2068', '\u2069'];

/** Whether a name is one letter for a reader, as an emoji of several characters is. */
export const single = (name) => [...name].length === 1 || [...LETTERS.segment(name)].length === 1;

/** The first letters of a name, and whether there are more of them. */
export function shortened(name, most) {
  const letters = [...LETTERS.segment(name)].map(({segment}) => segment);
  return letters.length > most ? `${letters.slice(0, most - 1).join('')}…` : name;
}

/** What separates the names of a text: a blank, unless all are single letters. */
export function blank(names) {
  return names.every(single) ? '' : ' ';
}

export const isSpace = (name) => name in SPOKEN;

/** A name as it is read aloud. */
export const spoken = (name) => SPOKEN[name] ?? name;

/** Whether a text is written from right to left: the first of its letters that has a direction decides. */
export function fromTheRight(names) {
  const first = names.join(' ').match(/\p{L}/u);
  return first !== null && FROM_THE_RIGHT.test(first[0]);
}

/** A name that does not turn the text around it: characters that isolate it, where it is written from right to left. */
export const isolated = (name) => (FROM_THE_RIGHT.test(name) ? `${ISOLATED}${name}${END}` : name);
