// Owns the main script: every one of the seven tools called through the host, and the claims about what came of it.

import assert from 'node:assert/strict';
import path from 'node:path';

import { answersTo, conversation, declarationsOf, declaredName, responsesIn } from './records.mjs';
import { ending } from './child.mjs';
import { failureOf, outputOf, rawAnswer } from './answers.mjs';
import { filesOf } from './playground.mjs';

/** The seven tools, each with the parameters that a model cannot do without. */
export const SEVEN_TOOLS = {
  read_file: ['absolute_path'],
  write_file: ['content', 'file_path'],
  replace: ['file_path', 'new_string', 'old_string'],
  list_directory: ['path'],
  glob: ['pattern'],
  search_file_content: ['pattern'],
  read_many_files: ['paths'],
};

const BOM = '\uFEFF';
const WIDE_TEXT = wideText();

export const FILES = {
  'README.md': '# Playground\n\nA place to play.\n',
  '.gitignore': 'ignored/\n',
  'ignored/secret.rs': 'fn secret() {}\n',
  'src/main.rs': 'fn main() {\n    greet("wörld 世界 🌍");\n}\n\nfn greet(name: &str) {\n    println!("hello {name}");\n}\n',
  'src/deep/part.rs': 'pub fn part() -> u32 {\n    7\n}\n',
  'notes/dos.txt': `${BOM}first\r\nsecond\r\nthird`,
  'notes/mixed.txt': 'one\r\ntwo\nthree\r\nfour',
  'notes/dollars.txt': 'price: X\n',
  'notes/overwritten.txt': `${BOM}old\r\ntext\r\n`,
  'notes/shared.txt': 'alpha\nbeta\n',
  'texts/wide.txt': WIDE_TEXT,
};

const CHANGED_FILES = {
  'made/on/the/way/new.txt': 'new\n新しい 🆕\nno newline at the end',
  'notes/dos.txt': `${BOM}first\r\n2nd 二\r\nthird`,
  'notes/mixed.txt': 'one\r\nzwei\nthree\r\nfour',
  'notes/dollars.txt': "price: $& $1 $$ $'\n",
  'notes/overwritten.txt': `${BOM}new\r\ntext 新\r\n`,
  'notes/shared.txt': 'ALPHA\nBETA\n',
};

export function sevenToolsScript(workspace) {
  const at = (name) => path.join(workspace, name);
  const replace = (id, file, old_string, new_string) => ({
    id,
    tool: 'replace',
    args: { file_path: at(file), old_string, new_string },
  });
  return {
    closing: 'All seven tools were called.',
    turns: [
      [{ id: 'read', tool: 'read_file', args: { absolute_path: at('src/main.rs') } }],
      [
        { id: 'list', tool: 'list_directory', args: { path: workspace } },
        { id: 'glob', tool: 'glob', args: { pattern: '**/*.rs' } },
        { id: 'search', tool: 'search_file_content', args: { pattern: String.raw`fn \w+\(`, include: '*.rs' } },
        { id: 'read-many', tool: 'read_many_files', args: { paths: ['src/**/*.rs', 'README.md'] } },
      ],
      // Gemini CLI 0.61 adds `wait_for_previous` to every schema and passes it through to the tool.
      [
        {
          id: 'write-new',
          tool: 'write_file',
          args: { file_path: at('made/on/the/way/new.txt'), content: CHANGED_FILES['made/on/the/way/new.txt'] },
          hostArgs: { wait_for_previous: false },
        },
        {
          id: 'overwrite',
          tool: 'write_file',
          args: { file_path: at('notes/overwritten.txt'), content: 'new\ntext 新\n' },
          hostArgs: { wait_for_previous: true },
        },
      ],
      [
        replace('replace-dos', 'notes/dos.txt', 'second', '2nd 二'),
        replace('replace-mixed', 'notes/mixed.txt', 'two', 'zwei'),
        replace('replace-dollars', 'notes/dollars.txt', 'X', "$& $1 $$ $'"),
        replace('replace-shared-1', 'notes/shared.txt', 'alpha', 'ALPHA'),
        replace('replace-shared-2', 'notes/shared.txt', 'beta', 'BETA'),
      ],
      [
        { id: 'read-missing', tool: 'read_file', args: { absolute_path: at('missing.txt') } },
        replace('replace-missing', 'README.md', 'not in there', 'whatever'),
      ],
      [{ id: 'read-wide', tool: 'read_file', args: { absolute_path: at('texts/wide.txt') } }],
    ],
  };
}

/** `ours` are the declarations that `get_tools` prints when it is called without a host. */
export async function checkSevenTools(report, { script, recorded, session, playground, ours }) {
  await checkSession(report, script, session);
  const requests = conversation(recorded);
  if (requests.length === 0) return;
  await checkDeclarations(report, declarationsOf(requests[0].body), ours);
  await checkAnswers(report, script, answersTo(script, recorded), playground.workspace, requests);
  await checkFiles(report, playground.workspace);
}

async function checkSession(report, script, session) {
  await report.claim('the_host_plays_the_script_to_its_end', () => {
    assert.equal(session.status, 0, `the host ${ending(session)}`);
    assert.ok(session.stdout.includes(script.closing), 'the closing text was not printed');
  });
  await report.claim('no_process_is_left_behind', () => assert.deepEqual(session.leftBehind, []));
}

async function checkDeclarations(report, declared, ours) {
  for (const [tool, required] of Object.entries(SEVEN_TOOLS)) {
    await report.claim(`the_model_sees_${tool}_with_its_parameters`, () => {
      const seen = declared.get(declaredName(declared, tool));
      assert.ok(seen, `it sees only ${[...declared.keys()].join(', ')}`);
      assert.equal(seen.count, 1, 'declared more than once');
      // Where the name is a built-in's, this is what tells that ours has taken its place.
      assert.ok(seen.description.startsWith(ours.get(tool).description), `another tool's description: ${seen.description.slice(0, 100)}`);
      const { wait_for_previous: _, ...properties } = seen.schema.properties ?? {};
      assert.notDeepEqual(properties, {}, 'it has no parameters');
      assert.deepEqual(properties, ours.get(tool).schema.properties);
      assert.deepEqual([...(seen.schema.required ?? [])].sort(), required);
    });
  }
}

async function checkAnswers(report, script, answers, workspace, requests) {
  const at = (name) => path.join(workspace, name);
  const output = (id) => outputOf(answers, id);

  await report.claim('read_file_gives_the_text', () => mentions(output('read'), FILES['src/main.rs'].trimEnd()));

  await report.claim('list_directory_lists_directories_first_and_leaves_out_ignored_ones', () => {
    const lines = output('list').split('\n');
    mentions(lines[0], `Directory listing for ${workspace}:`);
    const rows = ['[DIR] notes', '[DIR] src', '[DIR] texts', 'README.md'].map((row) => lines.indexOf(row));
    assert.ok(rows.every((row, i) => row > (rows[i - 1] ?? 0)), `rows at ${rows} in ${lines.join(' / ')}`);
    assert.ok(!lines.includes('[DIR] ignored'), 'an ignored directory is listed');
  });

  await report.claim('glob_names_files_from_the_root_on', () => {
    const text = output('glob');
    mentions(text, "Found 2 file(s) matching '**/*.rs'", '\nsrc/main.rs', '\nsrc/deep/part.rs');
    lacks(text, 'secret.rs');
  });

  await report.claim('search_file_content_groups_matches_by_file', () => {
    const text = output('search');
    assert.match(text, /^Found 3 match(es|\(es\)) for pattern "fn \\w\+\\\("/);
    mentions(text, 'File: src/main.rs\nL1: fn main() {\nL5: fn greet(name: &str) {\n---');
    mentions(text, 'File: src/deep/part.rs\nL1: pub fn part() -> u32 {\n---');
    lacks(text, 'secret');
  });

  await report.claim('read_many_files_gives_every_file_under_its_name', () => {
    const text = output('read-many');
    for (const name of ['src/main.rs', 'src/deep/part.rs', 'README.md']) {
      assert.ok(text.split('\n').some((line) => line.startsWith('--- ') && line.endsWith(`${name} ---`)), `no heading for ${name}`);
      mentions(text, FILES[name].trimEnd());
    }
    assert.ok(text.trimEnd().endsWith('--- End of content ---'), 'the last line is missing');
  });

  await report.claim('write_file_answers_with_the_path', () => {
    mentions(output('write-new'), 'new.txt');
    mentions(output('overwrite'), 'overwritten.txt');
  });

  await report.claim('replace_answers_with_the_path', () => {
    for (const name of ['dos', 'mixed', 'dollars']) mentions(output(`replace-${name}`), `${name}.txt`);
  });

  await report.claim('two_edits_of_one_file_in_one_turn_both_succeed', () => {
    for (const id of ['replace-shared-1', 'replace-shared-2']) mentions(output(id), 'shared.txt');
  });

  await report.claim('a_missing_file_reaches_the_model_as_our_error', () => {
    const failure = failureOf(answers, 'read-missing');
    assert.equal(failure.errorType, 'file_not_found');
    assert.equal(failure.status, 1);
    mentions(failure.error, 'missing.txt');
  });

  await report.claim('a_text_that_is_not_there_reaches_the_model_as_our_error', () => {
    const failure = failureOf(answers, 'replace-missing');
    assert.equal(failure.errorType, 'edit_no_occurrence_found');
    assert.equal(failure.status, 1);
    mentions(failure.error, 'README.md');
  });

  await report.claim('300_kb_of_multi_byte_characters_arrive_undamaged', () => {
    const damaged = rawAnswer(answers, 'read-wide').split('\uFFFD').length - 1;
    assert.equal(damaged, 0, `${damaged} characters U+FFFD`);
    const text = output('read-wide');
    const whole = text.includes(WIDE_TEXT.trimEnd());
    assert.ok(whole, `${text.length} characters, differing from the file at ${firstDifference(text, WIDE_TEXT)}`);
  });

  await report.claim('all_calls_of_one_turn_are_answered_in_one_message', () => {
    const counts = requests.at(-1).body.contents.map((content) => responsesIn(content).length);
    assert.deepEqual(counts.filter((count) => count > 0), script.turns.map((calls) => calls.length));
  });
}

async function checkFiles(report, workspace) {
  const found = filesOf(workspace);
  const expected = { ...FILES, ...CHANGED_FILES };
  for (const [name, text] of Object.entries(CHANGED_FILES)) {
    await report.claim(`on_disk_${name}_is_exact`, () => {
      assert.ok(found[name], 'not there');
      assert.ok(found[name].equals(Buffer.from(text)), `${JSON.stringify(found[name].toString())} instead of ${JSON.stringify(text)}`);
    });
  }
  await report.claim('on_disk_nothing_else_has_changed', () => {
    const own = Object.keys(found).filter((name) => name !== '.gemini/settings.json');
    assert.deepEqual(own.sort(), Object.keys(expected).sort());
    for (const [name, text] of Object.entries(FILES)) {
      if (!(name in CHANGED_FILES)) assert.ok(found[name].equals(Buffer.from(text)), `${name} has changed`);
    }
  });
}

function mentions(text, ...wanted) {
  for (const part of wanted) assert.ok(text.includes(part), `${JSON.stringify(part)} is not in ${JSON.stringify(text.slice(0, 300))}`);
}

function lacks(text, unwanted) {
  assert.ok(!text.includes(unwanted), `${JSON.stringify(unwanted)} is in ${JSON.stringify(text.slice(0, 300))}`);
}

function firstDifference(text, wanted) {
  for (let i = 0; i < wanted.length; i += 1) if (text[i] !== wanted[i]) return `character ${i}`;
  return 'no character';
}

/** Some 300 kB whose characters have two to four bytes, below every limit of `read_file` on lines. */
function wideText() {
  const letters = '漢字かなカナ한글語文😀🦀é€中龍';
  const lines = [];
  let bytes = 0;
  for (let number = 0; bytes < 300_000; number += 1) {
    // Each line starts elsewhere, so that a lost or doubled piece shows, whatever its length.
    const glyphs = [...letters];
    const turned = [...glyphs.slice(number % glyphs.length), ...glyphs.slice(0, number % glyphs.length)].join('');
    const line = `${number} ${turned.repeat(8)}`;
    lines.push(line);
    bytes += Buffer.byteLength(line) + 1;
  }
  return `${lines.join('\n')}\n`;
}
