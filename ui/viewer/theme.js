// Light or dark is one class on <body>, the one that Gradio uses. Before Gradio is there the page decides by itself.

/** Applies the theme that the address or the system asks for. */
export function startTheme() {
  const asked = new URLSearchParams(location.search).get('__theme');
  const dark = asked === 'dark' || (asked !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.body.classList.toggle('dark', dark);
  onPaper();
}

/** Paper is white: the dark theme is laid off while the page is printed. Not every browser tells it in both ways. */
function onPaper() {
  let was = false;
  const print = () => {
    was ||= document.body.classList.contains('dark');
    document.body.classList.remove('dark');
  };
  const printed = () => {
    if (was) document.body.classList.add('dark');
    was = false;
  };
  window.addEventListener('beforeprint', print);
  window.addEventListener('afterprint', printed);
  matchMedia('print').addEventListener('change', ({ matches }) => (matches ? print() : printed()));
}

export function toggleTheme() {
  document.body.classList.toggle('dark');
}
