// Owns the cases: which changes of which packages, disturbed by which kinds.

import path from 'node:path';

import { changesOf } from './changes.mjs';
import { BLANKS } from './kinds/blanks.mjs';
import { CHARACTERS } from './kinds/characters.mjs';
import { LINES, SHORT } from './kinds/lines.mjs';
import { PAIRS } from './kinds/pairs.mjs';
import { TWICE } from './kinds/twice.mjs';
import { Chance } from './random.mjs';

/** Each family of kinds with the lines of context that its changes have. */
export const FAMILIES = [
  { context: 3, kinds: [...LINES, ...BLANKS, ...CHARACTERS, ...PAIRS, ...TWICE] },
  { context: 1, kinds: SHORT },
];

export const KINDS = FAMILIES.flatMap((family) => family.kinds);

/** The cases of one seed: `perPackage` changes of each package, each disturbed in every way that fits it. */
export async function casesOf({ packages, seed, perPackage, kinds }) {
  const cases = [];
  for (const one of packages) {
    for (const family of FAMILIES) {
      const chance = new Chance(seed, one.title, family.context);
      for (const change of await changesOf(one.title, one.directories, { context: family.context, count: perPackage, chance })) {
        for (const kind of family.kinds.filter((k) => kinds.length === 0 || kinds.some((part) => k.name.includes(part)))) {
          const made = disturbed(change, kind, seed);
          if (made) cases.push(made);
        }
      }
    }
  }
  return cases;
}

/** A change disturbed by a kind, null where the kind does not fit it. */
export function disturbed(change, kind, seed) {
  const made = kind.make(change, new Chance(seed, change.name, kind.name));
  if (!made || made.old === made.new || made.old.trim() === '' || hidesBlanks(change, made)) return null;
  const base = made.change ?? change;
  return {
    name: change.name,
    seed,
    kind: kind.name,
    mark: made.mark ?? kind.mark,
    extension: extensionOf(change.name),
    change: base,
    text: made.text ?? base.before,
    old: made.old,
    new: made.new,
    accepts: made.accepts ?? [base.after],
    fits: made.fits,
    plain: made.plain,
    isOpen: made.isOpen ?? false,
    literal: kind.literal ?? true,
  };
}

/**
 * Whether the blanks that a change is about are not in the texts any more: those at the end of a line of which nothing else
 * changes, those of a new blank line, and indentation of other characters than any quoted line has.
 */
function hidesBlanks({ rows }, made) {
  const bare = (line) => line.trimEnd();
  const indent = (line) => /^[ \t]*/.exec(line)[0];
  const quoted = rows.filter((row) => row.kind !== '+').map((row) => row.old);
  const added = rows.filter((row) => row.kind === '+').map((row) => row.new);
  const isOther = (line) => bare(line) === '' ? line !== '' : ['\t', ' '].some((c) => indent(line).includes(c) && !quoted.some((one) => indent(one).includes(c)));
  const removed = rows.filter((row) => row.kind === '-' && bare(row.old) !== row.old && added.includes(bare(row.old))).map((row) => row.old);
  const lines = (text) => new Set(text.split('\n'));
  const [old, fresh] = [lines(made.old), lines(made.new)];
  return removed.some((line) => !old.has(line)) || added.filter(isOther).some((line) => !fresh.has(line));
}

/** The extension of the file that a change is named after. */
export function extensionOf(name) {
  return path.extname(name.replace(/:\d+$/, ''));
}
