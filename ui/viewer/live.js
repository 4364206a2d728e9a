// Follows a run on the server: one EventSource per page, closed while the page is hidden.
// Messages are trace events with id "<run>:<seq>"; 'bye' ends the stream for good, 'gone' says the run is not kept.
// The browser reconnects by itself and sends Last-Event-ID; what then comes twice is dropped by its seq.

/** Calls `on.event(object)`, `on.bye()`, `on.gone(text)`, `on.open()`, `on.lost()`. Returns {close}. */
export function follow(run, on, { after = -1, base = document.baseURI } = {}) {
  let seen = after;
  let source = null;
  let ended = false;

  function open() {
    if (ended || source || document.visibilityState === 'hidden') return;
    const url = new URL(`runs/${encodeURIComponent(run)}/events`, base);
    if (seen >= 0) url.searchParams.set('after', seen);
    source = new EventSource(url);
    source.onopen = () => on.open();
    source.onmessage = message;
    source.addEventListener('bye', (event) => finish(() => on.bye(event.data)));
    source.addEventListener('gone', (event) => finish(() => on.gone(event.data)));
    source.onerror = () => {
      if (ended) return;
      if (source?.readyState === EventSource.CLOSED) finish(() => on.gone('')); // the server refused: no retry
      else on.lost();
    };
  }

  function message({ data, lastEventId }) {
    const event = JSON.parse(data);
    const seq = Number(lastEventId.slice(lastEventId.lastIndexOf(':') + 1) || NaN);
    const number = Number.isInteger(seq) ? seq : event.seq;
    if (number <= seen) return;
    seen = number;
    on.event(event);
  }

  function shut() {
    source?.close();
    source = null;
  }

  function finish(tell) {
    ended = true;
    document.removeEventListener('visibilitychange', seenOrNot);
    shut();
    tell?.();
  }

  function seenOrNot() {
    if (document.visibilityState === 'hidden') shut();
    else open();
  }

  document.addEventListener('visibilitychange', seenOrNot);
  open();
  return { close: () => finish(null) };
}
