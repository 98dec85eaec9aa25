// One tooltip for all: it shows `data-tip` of what the pointer is over or the focus is on, at once, on touch too.

/** Adds the tooltip of everything within an element. */
export function withTips(root) {
  const tip = document.createElement('div');
  tip.className = 'tip';
  tip.setAttribute('role', 'tooltip');
  tip.id = 'tip';
  let of = null;
  const hide = () => {
    of?.removeAttribute('aria-describedby');
    of = null;
    tip.remove();
  };
  const show = (target, x, y) => {
    const owner = target.closest?.('[data-tip]');
    if (!owner?.dataset.tip) return hide();
    if (owner !== of) {
      hide();
      of = owner;
      if (owner === document.activeElement) owner.setAttribute('aria-describedby', 'tip');
      document.documentElement.append(tip); // beside the body, whose children are described
    }
    if (tip.textContent !== owner.dataset.tip) tip.textContent = owner.dataset.tip;
    const left = Math.max(4, Math.min(x + 12, window.innerWidth - tip.offsetWidth - 4));
    const above = y + 18 + tip.offsetHeight > window.innerHeight;
    tip.style.left = `${left}px`;
    tip.style.top = `${Math.max(4, above ? y - tip.offsetHeight - 12 : y + 18)}px`;
  };
  root.addEventListener('pointermove', (event) => show(event.target, event.clientX, event.clientY));
  root.addEventListener('pointerdown', (event) => show(event.target, event.clientX, event.clientY));
  root.addEventListener('pointerleave', hide);
  root.addEventListener('focusin', (event) => {
    if (!event.target.matches(':focus-visible')) return;
    const box = event.target.getBoundingClientRect();
    show(event.target, box.left, box.bottom - 12);
  });
  root.addEventListener('focusout', hide);
  root.addEventListener('keydown', (event) => event.key === 'Escape' && hide());
  window.addEventListener('scroll', hide, {passive: true});
}
