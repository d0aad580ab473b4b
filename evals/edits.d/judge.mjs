// Owns what counts as right.

const lf = (text) => text.replaceAll('\r\n', '\n');

/** What the words say: the file with `new` in place of `old`, if that is there exactly once; CRLF counts as LF. */
function literal(text, old, fresh) {
  const [file, sought] = [lf(text), lf(old)];
  const at = sought === '' ? -1 : file.indexOf(sought);
  if (at < 0 || file.indexOf(sought, at + 1) >= 0) return null;
  return file.slice(0, at) + lf(fresh) + file.slice(at + sought.length);
}

/**
 * What became of a case whose file is `after` now: `right`; `refused`, nothing was changed; `literal`, which is not
 * counted, since it is what the words say, though not what was meant; or `wrong`.
 */
export function judge(one, after) {
  if (after === one.text) return 'refused';
  const isWanted = one.accepts.includes(after) || Boolean(one.fits?.(after));
  if (isWanted && one.mark !== 'refuse') return 'right';
  if (one.literal && literal(one.text, one.old, one.new) === lf(after)) return 'literal';
  return 'wrong';
}
