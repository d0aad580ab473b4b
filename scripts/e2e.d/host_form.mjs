// Owns the script about the form for hosts that show text, played in the usual form as well, and the claims about what the
// model gets of it.

import assert from 'node:assert/strict';
import path from 'node:path';

import { ending } from './child.mjs';
import { outputOf, rawAnswer } from './answers.mjs';
import { answersTo } from './records.mjs';
import { writeFile } from './playground.mjs';

const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

const MAIN = 'fn main() {\n    let quoted = "\\\\ wörld 世界 🌍";\n    println!("{quoted}");\n}\n';

const FILES = {
  'src/main.rs': MAIN,
  'pixel.png': PIXEL,
  'long.txt': 'A line of ASCII, which a search finds.\n'.repeat(3000),
  'wide.txt': '漢字かなカナ한글語文😀🦀é€中龍\n'.repeat(2500),
};

/** The calls whose answer is the same text in both forms. */
const SAME = ['read', 'search', 'list', 'glob'];

function script(workspace) {
  const at = (name) => path.join(workspace, name);
  const replace = (id, old_string, new_string) => ({
    id,
    tool: 'replace',
    args: { file_path: at('src/main.rs'), old_string, new_string },
  });
  return {
    closing: 'Texts were read.',
    turns: [
      [
        { id: 'read', tool: 'read_file', args: { absolute_path: at('src/main.rs') } },
        { id: 'search', tool: 'search_file_content', args: { pattern: 'quoted' } },
        { id: 'list', tool: 'list_directory', args: { path: workspace } },
        { id: 'glob', tool: 'glob', args: { pattern: 'src/*.rs' } },
      ],
      [replace('edit', 'println!("{quoted}");', 'print!("{quoted}");')],
      [replace('missed', 'not in there', 'x'), { id: 'missing', tool: 'read_file', args: { absolute_path: at('none.txt') } }],
      [{ id: 'long', tool: 'search_file_content', args: { pattern: 'ASCII' } }],
      [{ id: 'image', tool: 'read_file', args: { absolute_path: at('pixel.png') } }],
      [{ id: 'wide', tool: 'read_file', args: { absolute_path: at('wide.txt') } }],
    ],
  };
}

export async function checkHostForm(report, play) {
  const played = {};
  for (const form of ['part', 'host']) {
    // The file that users write: the host reads it, and its children inherit what it says.
    const prepare = ({ home }) => writeFile(path.join(home, '.gemini', '.env'), `GEMINI_TOOLS_OUTPUT=${form}\n`);
    const session = await play({ name: `form_${form}`, files: FILES, script, prepare, approved: true });
    played[form] = { ...session, answers: answersTo(script(session.playground.workspace), session.recorded) };
  }
  const { part, host } = played;
  const raw = (id) => rawAnswer(host.answers, id);
  const here = ({ playground }, text) => text.replaceAll(playground.workspace, '/workspace');

  await report.claim('the_host_plays_the_texts_to_their_end', () => {
    assert.equal(host.session.status, 0, `the host ${ending(host.session)}`);
    assert.ok(host.session.stdout.includes('Texts were read.'), 'the closing text was not printed');
  });
  await report.claim('the_model_gets_the_very_texts_that_the_json_holds', () => {
    for (const id of SAME) assert.equal(here(host, raw(id)), here(part, outputOf(part.answers, id)));
    assert.equal(raw('read'), MAIN);
  });
  await report.claim('the_model_gets_the_diff_of_an_edit', () => {
    assert.match(raw('edit'), /^Successfully modified file: [^]*\n-    println!\("\{quoted\}"\);\n\+    print!\("\{quoted\}"\);\n/);
  });
  await report.claim('an_error_is_text_on_standard_output_and_status_1', () => {
    for (const [id, words] of [['missed', 'old_string was not found in '], ['missing', 'does not exist']]) {
      const [, text] = /^Stdout: ([^]*)\nStderr: \(empty\)\nError: \(none\)\nExit Code: 1\nSignal: \(none\)$/.exec(raw(id).trimEnd()) ?? [];
      assert.ok(text?.includes(words) && !text.includes('{"'), JSON.stringify(raw(id)));
    }
  });
  await report.claim('a_long_answer_is_cut_as_in_the_json', () => {
    const kept = (text) => text.replace(/The whole answer is in \S+;/, 'The whole answer is kept;');
    assert.match(raw('long'), /\[Truncated: \d+ more characters in \d+ lines\. The whole answer is in \S+; read it with read_file\.\]$/);
    assert.equal(here(host, kept(raw('long'))), here(part, kept(outputOf(part.answers, 'long'))));
  });
  await report.claim('an_image_is_named_and_not_shown', () => {
    assert.equal(raw('image'), `The content is not shown (image/png, ${PIXEL.length} bytes).`);
  });
  await report.claim('a_long_text_beyond_ascii_arrives_undamaged', () => {
    assert.equal(raw('wide'), outputOf(part.answers, 'wide'));
    assert.ok(!raw('wide').includes('\uFFFD'));
  });
  const sizes = ({ answers }) => [...SAME, 'edit', 'missed', 'missing'].map((id) => JSON.stringify(rawAnswer(answers, id)).length);
  const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
  report.info(`form: characters that seven answers take in the request: ${sum(sizes(part))} as JSON, ${sum(sizes(host))} as text`);
}
