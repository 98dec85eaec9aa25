// A small renderer: `h` describes an element, `patch` makes a place hold what is described. What is described again stays
// the same element, so focus, selection and hover survive. Nothing is parsed: text is text.

const SVG = 'http://www.w3.org/2000/svg';

/** What a reader changes by himself, and attributes do not show. */
const PROPERTIES = ['value', 'checked'];

/** Element -> the description that it shows. */
const shown = new WeakMap();

/** Describes an element.
 * attributes: `key`, its name among its siblings; `onclick` and the like, listeners; `style`, CSS; `own`, whether its children
 * are somebody else's; all else as in HTML, left out where it is null, undefined or false. children: descriptions, text,
 * nodes that were made elsewhere, and lists of these; null and false are nothing. */
export function h(tag, attributes, ...children) {
  return {tag, attributes: attributes ?? {}, children: children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false)};
}

/** Makes an element hold these children and no others. */
export function patch(place, ...children) {
  const focused = /** @type {HTMLElement} */ (document.activeElement);
  arrange(place, h('', {}, children).children);
  if (focused?.isConnected && focused !== document.activeElement) focused.focus({preventScroll: true});
}

function arrange(parent, children) {
  const before = new Map();
  for (const node of parent.childNodes) {
    const name = nameOf(shown.get(node) ?? (node.nodeType === Node.TEXT_NODE ? '' : node));
    before.set(name, [...(before.get(name) ?? []), node]);
  }
  const nodes = children.map((child) => before.get(nameOf(child))?.shift() ?? made(child, parent));
  const kept = new Set(nodes);
  for (const node of [...parent.childNodes]) if (!kept.has(node)) node.remove();
  let at = parent.firstChild;
  nodes.forEach((node, i) => {
    if (node === at) at = at.nextSibling;
    else parent.insertBefore(node, at);
    update(node, children[i]);
  });
}

/** What a description must share with an element to be shown by it. */
function nameOf(child) {
  if (child instanceof Node) return child;
  return child.tag ? `${child.tag} ${child.attributes.key ?? ''}` : '';
}

function made(child, parent) {
  if (child instanceof Node) return child;
  if (!child.tag) return document.createTextNode(child);
  const within = parent.namespaceURI === SVG && parent.localName !== 'foreignObject';
  return child.tag === 'svg' || within ? document.createElementNS(SVG, child.tag) : document.createElement(child.tag);
}

function update(node, child) {
  if (child instanceof Node) return;
  if (!child.tag) {
    if (node.data !== String(child)) node.data = child;
    return;
  }
  const before = shown.get(node)?.attributes ?? {};
  shown.set(node, child);
  const now = child.attributes;
  for (const name of new Set([...Object.keys(before), ...Object.keys(now)])) {
    if (before[name] !== now[name] && !PROPERTIES.includes(name)) change(node, name, now[name]);
  }
  if (!now.own) arrange(node, child.children);
  for (const name of PROPERTIES) if (name in now && node[name] !== now[name]) node[name] = now[name];
}

function change(node, name, value) {
  if (name === 'key' || name === 'own') return;
  if (name.startsWith('on')) node.addEventListener(name.slice(2), listen); // the same one again is no second one
  else if (name === 'style') node.style.cssText = value ?? ''; // a strict policy refuses the attribute
  else if (value === null || value === undefined || value === false) node.removeAttribute(name);
  else node.setAttribute(name, value === true ? '' : value);
}

/** Calls the listener of the description that is shown now. */
function listen(event) {
  shown.get(event.currentTarget)?.attributes[`on${event.type}`]?.(event);
}
