// What of the chapters is done, kept in this browser: {done: [key], at: key}. A browser that keeps nothing is fine.

const NAME = 'ragged.chapters';

export function readProgress() {
  try {
    const kept = JSON.parse(localStorage.getItem(NAME) ?? '{}');
    return { done: Array.isArray(kept?.done) ? kept.done : [], at: typeof kept?.at === 'string' ? kept.at : null };
  } catch {
    return { done: [], at: null };
  }
}

export function writeProgress(progress) {
  try {
    localStorage.setItem(NAME, JSON.stringify(progress));
  } catch { /* private windows may refuse */ }
}
