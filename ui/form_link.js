// The form's settings in the address, one parameter each (f.k=6), and back from there: a reload or a shared link
// restores the form. Only what differs from the form as it opens is written. `fields` = [{name, initial, choices}] in the
// order of the values that Gradio hands over; `choices`: null, or what such a field can be.

window.raggedForm = (() => {
  const MOST = 6000; // characters of a link: prompts beyond that are left out, and the form says so
  const WAIT_MS = 400;
  let timer = 0;

  /** The values of the address where it names one that the field can have, else those that came. */
  function read(fields, values) {
    const query = new URLSearchParams(location.search);
    const found = fields.map(({ name, initial, choices }) => parse(query.get(`f.${name}`), initial, choices));
    if (found.some((value) => value !== undefined)) document.getElementById('your-prompts')?.classList.add('open');
    return values.map((value, n) => found[n] ?? value);
  }

  function parse(text, initial, choices) {
    if (text === null) return undefined;
    if (Array.isArray(initial)) return text.split('.').filter((part) => choices.includes(part));
    if (typeof initial === 'boolean') return text === '1';
    if (typeof initial === 'number') return text.trim() && Number.isFinite(Number(text)) ? Number(text) : undefined;
    return choices && !choices.includes(text) ? undefined : text;
  }

  function write(fields, values) {
    clearTimeout(timer);
    timer = setTimeout(() => put(fields, values), WAIT_MS);
  }

  function put(fields, values) {
    const query = new URLSearchParams(location.search);
    let left = false;
    fields.forEach(({ name, initial }, n) => {
      query.delete(`f.${name}`);
      if (values[n] == null || JSON.stringify(values[n]) === JSON.stringify(initial)) return;
      const text = Array.isArray(initial) ? values[n].join('.') : typeof initial === 'boolean' ? String(Number(values[n])) : String(values[n]);
      if (encodeURIComponent(text).length > MOST) left = true;
      else query.set(`f.${name}`, text);
    });
    document.getElementById('too-long')?.toggleAttribute('hidden', !left);
    const search = String(query) ? `?${query}` : '';
    if (search !== location.search) history.replaceState(history.state, '', location.pathname + search + location.hash);
  }

  return { read, write };
})();
