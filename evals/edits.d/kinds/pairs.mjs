// Owns the kinds with two slips at once: first one of lines, then one of both texts as a whole.

import { BLANKS, indentOfAll } from './blanks.mjs';
import { CHARACTERS } from './characters.mjs';
import { LINES, stripped } from './lines.mjs';

const kindOf = new Map([...LINES, ...BLANKS, ...CHARACTERS].map((kind) => [kind.name, kind]));

const eachLine = (text, change) => text.split('\n').map((line) => (line === '' ? line : change(line))).join('\n');

function dedent({ old, new: fresh }) {
  const common = indentOfAll(`${old}\n${fresh}`.split('\n'));
  const cut = (line) => (line.startsWith(common) ? line.slice(common.length) : line.trimStart());
  return common === '' ? null : { old: eachLine(old, cut), new: eachLine(fresh, cut) };
}

const perText = (disturb) => (edit) => ({ old: disturb(edit.old), new: disturb(edit.new) });

const SECOND = {
  'common indentation removed': dedent,
  'numbers: 12: ': perText((text) => {
    let n = 0;
    return text.replace(/^(?=[^\n]|\n)/gm, () => `${(n += 1)}: `);
  }),
  'both escaped once more as JSON': perText((text) => JSON.stringify(text).slice(1, -1)),
  'two blanks after each line': perText((text) => eachLine(text, (line) => `${line}  `)),
  'both ends stripped': stripped,
};

const PAIRS_OF = [
  ['curly quotes in context lines', 'common indentation removed'],
  ['a letter lost in a context line', 'common indentation removed'],
  ['a letter lost in a context line', 'both escaped once more as JSON'],
  ['a letter lost in a context line', 'both ends stripped'],
  ['tabs as four blanks', 'numbers: 12: '],
  ['tabs as four blanks', 'common indentation removed'],
  ['blank context lines left out', 'common indentation removed'],
  ['common indentation removed', 'numbers: 12: '],
  ['common indentation removed', 'both escaped once more as JSON'],
  ['CRLF file, LF in both', 'common indentation removed'],
  ['CRLF file, LF in both', 'two blanks after each line'],
  ['a run as // ... existing code ...', 'common indentation removed'],
  ['a context line left out of old only', 'common indentation removed'],
  ['a context line left out of old only', 'numbers: 12: '],
  ['a removed line left out', 'common indentation removed'],
  ['a letter lost in a removed line', 'common indentation removed'],
  ['a letter lost in a removed line', 'two blanks after each line'],
  ['another digit in a removed line', 'both escaped once more as JSON'],
  ['applied already', 'common indentation removed'],
  ['applied already', 'both escaped once more as JSON'],
  ['applied already', 'numbers: 12: '],
];

function pair([first, second]) {
  const kind = kindOf.get(first);
  return {
    name: `${first} + ${second}`,
    // Two slips at once may be refused, though each alone is clear.
    mark: kind.mark === 'apply' ? 'may' : kind.mark,
    make: (change, chance) => {
      const made = kind.make(change, chance);
      const edit = made && SECOND[second](made, change);
      return edit && { ...made, mark: undefined, ...edit, plain: { old: made.old, new: made.new } };
    },
  };
}

export const PAIRS = PAIRS_OF.map(pair);
