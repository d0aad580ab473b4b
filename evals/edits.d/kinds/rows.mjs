// Owns what the kinds share: how a hunk's rows become the two texts of an edit, and how lines of it are disturbed.
//
// A kind is `{name, mark, make}`. `make(change, chance)` returns null where the kind does not fit the change, else the
// edit: `{old, new}`, and where they differ from the change's or the kind's own: `change`, `text` (the file), `accepts` (the
// files that are right), `fits` (a function that says so), `mark`, `plain` (the texts before a second slip), and `isOpen`
// (the change is not made yet, so that it is wrong to say so).
//
// A mark says what a person would want:
//   apply   it is clear what is meant
//   may     it may be refused
//   refuse  it must be refused: what would go, or come twice, is not what the texts say
//   keep    it must be refused, or else give the wanted bytes: what differs is in `old` alone

export const isContext = (row) => row.kind === ' ';
export const isRemoved = (row) => row.kind === '-';
export const isAdded = (row) => row.kind === '+';
export const isBlank = (line) => line !== null && line.trim() === '';
export const indentOf = (line) => /^[ \t]*/.exec(line)[0];

/** The two texts of rows, with LF, and without the last one where the file ends so. */
export function texts(change, rows = change.rows) {
  const join = (side) => {
    const text = rows.filter((row) => row[side] !== null).map((row) => `${row[side]}\n`).join('');
    return change.isOpen && change.tail === '' ? text.slice(0, -1) : text;
  };
  return { old: join('old'), new: join('new') };
}

/** The rows with `change` applied to both texts of those that `isMeant`. */
export function mapped(rows, isMeant, change) {
  const apply = (line, row) => (line === null ? null : change(line, row));
  return rows.map((row) => (isMeant(row) ? { ...row, old: apply(row.old, row), new: apply(row.new, row) } : row));
}

export const isQuoted = (row) => !isAdded(row);

/** Every line of `isMeant` disturbed; null where `old` stays as it is. */
export function everyLine(isMeant, disturb, mark) {
  return (change) => {
    const rows = mapped(change.rows, isMeant, disturb);
    const edit = texts(change, rows);
    if (edit.old === texts(change).old) return null;
    return { ...edit, ...(mark && { mark: mark(change) }) };
  };
}

/** Rows of the context that do not touch a changed one. */
export function awayRows(rows) {
  const isQuiet = (row) => !row || isContext(row);
  return rows.filter((row, i) => isContext(row) && isQuiet(rows[i - 1]) && isQuiet(rows[i + 1]));
}

/** Rows of the context beside a changed one. */
export function nextRows(rows) {
  const away = new Set(awayRows(rows));
  return rows.filter((row) => isContext(row) && !away.has(row));
}

/** One line among `rowsOf` disturbed, in both texts or on one side. */
export function oneLine(rowsOf, disturb, sides = ['old', 'new']) {
  return (change, chance) => {
    const meant = rowsOf(change.rows).map((row) => [row, disturb(row.old ?? row.new, chance)]);
    const picked = chance.pick(meant.filter(([row, line]) => line !== null && line !== (row.old ?? row.new)));
    if (!picked) return null;
    const put = (row) => ({ ...row, ...Object.fromEntries(sides.filter((s) => row[s] !== null).map((s) => [s, picked[1]])) });
    return texts(change, change.rows.map((row) => (row === picked[0] ? put(row) : row)));
  };
}

/** One row among `rowsOf` left out of both texts, or of one side. */
export function leftOut(rowsOf, sides = ['old', 'new']) {
  return (change, chance) => {
    const row = chance.pick(rowsOf(change.rows));
    if (!row) return null;
    const gap = { ...row, ...Object.fromEntries(sides.map((side) => [side, null])) };
    return texts(change, change.rows.map((one) => (one === row ? gap : one)));
  };
}

/** Both texts of rows disturbed as a whole. */
export function wholeTexts(disturb, mark) {
  return (change, chance) => {
    const plain = texts(change);
    const edit = disturb(plain, change, chance);
    if (!edit || (edit.old === plain.old && edit.new === plain.new)) return null;
    return { ...edit, ...(mark && !edit.mark && { mark: mark(change) }) };
  };
}

export const eachText = (disturb) => ({ old, new: fresh }) => ({ old: disturb(old), new: disturb(fresh) });

/** Places of letters in a line, none if it has fewer than `least`. */
export function letters(line, least = 6) {
  const places = [...line.matchAll(/[A-Za-z]/g)].map((match) => match.index);
  return places.length >= least ? places : [];
}

export function splice(line, at, count, put = '') {
  return line.slice(0, at) + put + line.slice(at + count);
}

export function loseLetter(line, chance) {
  const at = chance.pick(letters(line));
  return at === undefined ? null : splice(line, at, 1);
}

/** What it takes to make a text of one line's indentation again: that all of it was seen, or is tabs or units alone. */
export function depthsAreClear(change, isRegular) {
  const filled = change.rows.filter((row) => !isBlank(row.old ?? row.new));
  const seen = new Set(filled.filter(isQuoted).map((row) => indentOf(row.old)));
  const hasEvidence = [...seen].some((indent) => indent !== '');
  return hasEvidence && filled.every((row) => seen.has(indentOf(row.old ?? row.new)) || isRegular(indentOf(row.new)));
}
