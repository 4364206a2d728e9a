// The words of the export and of notes; part of the table in strings_en.js.

export const EXPORT = {
  open: 'Export', title: 'One offline file', about: 'This view as one HTML file: it opens from disk, without a server and without a network.',
  aboutChapter: 'Chapter {n} as one HTML file: it opens from disk, without a server and without a network.',
  tensors: 'With the tensor views (1.5 MB more)', save: 'Save the file', working: 'Collecting…', saved: 'Saved: {name}, {size} KB.', failed: 'It could not be made: {why}',
  badge: 'saved page',
};

export const NOTE = {
  label: 'Note', add: 'Add a note', edit: 'Change the note', remove: 'Remove the note', field: 'Note on this token, at most {n} characters; it travels in the link', keep: 'Keep it',
  on: 'Note on token {n} of {lane}, row {row}:', onPrompt: 'Note on prompt token {n} of {lane}, row {row}:', show: 'Go there',
};
