// Owns the sample of the generator that the tests run: our own files, before and after some changes.

import fs from 'node:fs';
import path from 'node:path';

import { changesIn } from './changes.mjs';
import { disturbed, FAMILIES } from './generate.mjs';
import { literalResult } from './judge.mjs';
import { Chance } from './random.mjs';

const SEED = 1;
const OF_A_KIND = 2;

/** Writes cases of the changes between `before` and `after` below `sources`, some of each kind, as tests/edits has them. */
export async function writeSample(sources, file) {
  const cases = [];
  for (const family of FAMILIES) {
    const changes = await changesIn('sources', [path.join(sources, 'before'), path.join(sources, 'after')], family.context);
    for (const kind of family.kinds) {
      const fitting = changes.map((change) => disturbed(change, kind, SEED)).filter((one) => one && !one.fits);
      cases.push(...new Chance(SEED, kind.name).sample(fitting, OF_A_KIND));
    }
  }
  fs.writeFileSync(file, cases.map((one, i) => `${JSON.stringify(entry(one, i))}\n`).join(''));
  return cases.length;
}

function entry(one, i) {
  const wanted = one.mark === 'refuse' ? [one.text] : one.accepts;
  const said = one.literal ? literalResult(one) : null;
  const name = path.basename(one.name.replace(/:\d+$/, ''));
  return {
    id: `sample-${String(i + 1).padStart(3, '0')}`,
    kind: one.kind,
    file_path: name.slice(name.lastIndexOf(' ') + 1),
    before: one.text,
    instruction: 'Make the change.',
    old_string: one.old,
    new_string: one.new,
    after: [...new Set([...wanted, ...(said === null ? [] : [said])])],
    expect: one.mark,
  };
}
