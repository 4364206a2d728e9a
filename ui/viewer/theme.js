// Light or dark is one class on <body>, the one that Gradio uses. Before Gradio is there the page decides by itself.

/** Applies the theme that the address or the system asks for. */
export function startTheme() {
  const asked = new URLSearchParams(location.search).get('__theme');
  const dark = asked === 'dark' || (asked !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.body.classList.toggle('dark', dark);
}

export function toggleTheme() {
  document.body.classList.toggle('dark');
}
