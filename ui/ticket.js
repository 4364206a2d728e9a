// The visitor's side of a ticket (js_on_load of a gr.HTML): Gradio's event hands over {run, status, message}; from
// then on this asks the server, so that no Gradio request is pending while a run goes on. Were one pending, Gradio
// would reload the whole page when the connection drops.

const line = element.querySelector('.ticket');
const stop = element.querySelector('.stop');
const ASK_MS = 700;
const LOST_MS = 2000;
const OURS = 'ragged.run'; // in this browser's storage: the run that was begun here last
let timer = 0;
let ticket = {};
let refusal = ''; // of another run, while one goes on: that one stays in hand, and these words until the next is begun
let latest = ''; //  the run that was begun on this page last: a browser may keep nothing

function show(next) {
  const changed = ['run', 'status', 'message'].some((key) => next[key] !== ticket[key]);
  ticket = next;
  if (!changed) return;
  tell();
  stop.hidden = !(going() && mine(ticket.run)); // whoever follows a shared link watches
  window.dispatchEvent(new CustomEvent('ragged:run', { detail: { ...ticket, mine: mine(ticket.run) } }));
}

function tell() {
  line.textContent = [refusal, ticket.message].filter(Boolean).join(' ');
  line.dataset.status = refusal ? 'refused' : ticket.status || '';
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

/** A run that was begun here: the next one replaces it, also after a reload. */
function begun(next) {
  if (next.status === 'refused' && going()) {
    refusal = next.message;
    if (mine(ticket.run)) props.value = { ...ticket };
    return tell();
  }
  if (next.run !== ticket.run) refusal = '';
  latest = next.run || latest;
  try {
    if (next.run) localStorage.setItem(OURS, next.run);
  } catch {
    // a browser that keeps nothing: after a reload the run can only be watched
  }
  take(next);
}

function mine(run) {
  try {
    return Boolean(run) && (run === latest || localStorage.getItem(OURS) === run);
  } catch {
    return false;
  }
}

/** A run that a link names: while it goes on, it is told here; one's own can be stopped as if it were just begun. */
async function restore(run) {
  if (!run || run === ticket.run || (going() && mine(ticket.run))) return;
  try {
    const answer = await fetch(new URL(`runs/${encodeURIComponent(run)}/status`, document.baseURI), { cache: 'no-store' });
    const told = await answer.json();
    if (!answer.ok || !['queued', 'running'].includes(told.status)) return;
    if (mine(run)) {
      props.value = told; // what the form hands over with the next run
      document.getElementById('your-prompts')?.classList.add('open'); // where Stop is
    }
    take(told);
  } catch {
    // no server: the stage says so
  }
}

watch('value', () => begun(props.value || {}));

// A run that was started elsewhere on the page (what if) is told, stopped and replaced here like the form's own.
window.addEventListener('ragged:ticket', ({ detail }) => {
  props.value = detail;
  begun(detail);
});

// A link to a run is opened: by the page's address, by going back, by a click.
window.addEventListener('ragged:opened', ({ detail }) => restore(detail));
restore(/^run:(.+)$/.exec(new URLSearchParams(location.search).get('t'))?.[1]);
