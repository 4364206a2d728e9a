// The visitor's side of a ticket (js_on_load of a gr.HTML): Gradio's event hands over {run, status, message}; from
// then on this asks the server, so that no Gradio request is pending while a run goes on. Were one pending, Gradio
// would reload the whole page when the connection drops.

const line = element.querySelector('.ticket');
const stop = element.querySelector('.stop');
const ASK_MS = 700;
const LOST_MS = 2000;
let timer = 0;
let ticket = {};

function show(next) {
  const changed = ['run', 'status', 'message'].some((key) => next[key] !== ticket[key]);
  ticket = next;
  if (!changed) return;
  line.textContent = ticket.message || '';
  line.dataset.status = ticket.status || '';
  stop.hidden = !going();
  window.dispatchEvent(new CustomEvent('ragged:run', { detail: { ...ticket } }));
}

function going() {
  return ticket.status === 'queued' || ticket.status === 'running';
}

async function ask() {
  const { run } = ticket;
  let wait = ASK_MS;
  try {
    const answer = await fetch(new URL(`runs/${run}/status`, document.baseURI), { cache: 'no-store' });
    const told = await answer.json();
    if (run !== ticket.run) return; // another run was begun meanwhile
    show(answer.ok ? told : { run, status: 'failed', message: `${told.error}: ${told.works}.` });
  } catch {
    wait = LOST_MS;
    line.textContent = 'The connection is lost; trying again.';
    ticket.message = line.textContent;
  }
  if (run === ticket.run && going()) timer = setTimeout(ask, wait);
}

stop.addEventListener('click', () => {
  fetch(new URL(`runs/${ticket.run}/stop`, document.baseURI), { method: 'POST' }).catch(() => {});
});

function take(next) {
  clearTimeout(timer);
  show(next);
  if (going()) timer = setTimeout(ask, 100);
}

watch('value', () => take(props.value || {}));

// A run that was started elsewhere on the page (what if) is told, stopped and replaced here like the form's own.
window.addEventListener('ragged:ticket', ({ detail }) => {
  props.value = detail;
  take(detail);
});
