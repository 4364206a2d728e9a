// Plotly, fetched once and only when a plot is about to be seen: 1.5 MB that the hero must not wait for.
// The bundle is our own copy (assets/vendor), never a CDN; its address is in the page's JSON, relative to the page.

const VERSION = '4.1.1';

/** The same for every plot: no mode bar, no "share" button that posts to a cloud, no dragging; hover is ours. */
export const CONFIG = {
  displayModeBar: false, showSendToCloud: false, plotlyServerURL: '', displaylogo: false, staticPlot: true, responsive: false,
};

let pending = null;

/** Resolves with Plotly once `el` is near the window and the browser is idle. Rejects with a readable Error. */
export async function plotlyNear(el) {
  await nearby(el);
  await idle();
  pending ??= load().catch((error) => { pending = null; throw error; });
  return pending;
}

async function load() {
  // gr.Plot brings another version under the same name: keep ours in a variable and give the name back.
  const before = window.Plotly;
  if (before?.version === VERSION) return before;
  const source = pageConfig().plotly;
  if (!source) throw new Error("the page's JSON (#ragged-page) has no 'plotly' address");
  await script(new URL(source, document.baseURI).href);
  const ours = window.Plotly;
  if (ours?.version !== VERSION) throw new Error(`expected Plotly ${VERSION}, got ${ours?.version ?? 'nothing'}`);
  if (before) window.Plotly = before;
  return ours;
}

function script(src) {
  return new Promise((resolve, reject) => {
    const tag = document.createElement('script');
    tag.src = src;
    tag.async = true;
    tag.onload = resolve;
    tag.onerror = () => { tag.remove(); reject(new Error(`could not load ${src}`)); };
    document.head.append(tag);
  });
}

function pageConfig() {
  try {
    return JSON.parse(document.getElementById('ragged-page')?.textContent || '{}');
  } catch {
    return {};
  }
}

/** Resolves when `el` is within a screen of being visible (at once where that cannot be observed). */
function nearby(el) {
  if (!window.IntersectionObserver) return Promise.resolve();
  return new Promise((resolve) => {
    const watch = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      watch.disconnect();
      resolve();
    }, { rootMargin: '240px 0px' });
    watch.observe(el);
  });
}

function idle() {
  return new Promise((resolve) => {
    if (window.requestIdleCallback) window.requestIdleCallback(resolve, { timeout: 1500 });
    else setTimeout(resolve, 200);
  });
}
