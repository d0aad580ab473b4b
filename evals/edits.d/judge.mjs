// Owns what counts as right.

const lf = (text) => text.replaceAll('\r\n', '\n');

/** Whether a file has no other line ends than CRLF, so that a text with LF is there all the same. */
const isCrlf = (text) => text.includes('\r\n') && !/(^|[^\r])\n/.test(text);

/**
 * What the words say: the file with `new` in place of `old`, null unless that is there exactly once. Of two slips, the
 * words are those before the second.
 */
export function literalResult({ text, plain, ...edit }) {
  const { old, new: fresh } = plain ?? edit;
  const crlf = isCrlf(text);
  const form = crlf ? lf : (one) => one;
  const [file, sought] = [form(text), form(old)];
  const at = file.indexOf(sought);
  if (at < 0 || file.indexOf(sought, at + 1) >= 0) return null;
  const result = file.slice(0, at) + form(fresh) + file.slice(at + sought.length);
  return crlf ? result.replaceAll('\n', '\r\n') : result;
}

/**
 * What became of a case whose file is `after` now: `right`; `refused`, nothing was changed; `literal`, which is not
 * counted, since it is what the words say, though not what was meant; or `wrong`, as it also is to say (`said`) that an open
 * change was made already.
 */
export function judge(one, after, said) {
  if (after === one.text) return one.isOpen && said?.errorType === 'edit_no_change' ? 'wrong' : 'refused';
  const isWanted = one.accepts.includes(after) || Boolean(one.fits?.(after));
  if (isWanted && one.mark !== 'refuse') return 'right';
  // New lines end as those around them, whatever their text has.
  if (one.literal && lf(literalResult(one) ?? '') === lf(after)) return 'literal';
  return 'wrong';
}
