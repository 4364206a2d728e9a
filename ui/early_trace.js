// The trace that the address names is fetched beside the viewer's modules, not after them (as in viewer/link.js and source.js).
{
  const name = new URLSearchParams(location.search).get('t');
  if (name && name !== 'hero' && !/^(run|file):/.test(name)) {
    const href = `traces/${encodeURIComponent(name)}.jsonl`;
    document.head.append(Object.assign(document.createElement('link'), { rel: 'preload', as: 'fetch', crossOrigin: 'anonymous', href }));
  }
}
