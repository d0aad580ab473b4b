// Owns the questions: functions to find and read in packages, by the same two calls each time.

import fs from 'node:fs';

import { run } from '../../scripts/e2e.d/child.mjs';
import { getPackages } from '../edits.d/packages.mjs';
import { tokenizer } from '../tokens.d/tokenizer.mjs';

/** A package, the name of a file's end in it, and functions and types that it defines once. */
const QUESTIONS = [
  { registry: 'npm', name: 'express', versions: ['4.18.2', '4.19.2'], asked: ['createApplication', 'acceptParams', 'compileETag', 'stringify', 'sendfile', 'logerror', 'tryRender', 'matchLayer'] },
  { registry: 'pypi', name: 'fastapi', versions: ['0.110.0', '0.111.0'], asked: ['get_openapi_path', 'solve_dependencies', 'request_body_to_args', 'serialize_response', 'get_swagger_ui_html', 'jsonable_encoder', 'get_flat_dependant', 'create_cloned_field', 'APIRoute'] },
  { registry: 'crates', name: 'regex', versions: ['1.8.0', '1.9.0'], asked: ['shortest_match_at', 'captures_len', 'replacen', 'size_limit', 'dfa_size_limit', 'RegexSetBuilder', 'CaptureLocations', 'is_match_at', 'static_captures_len'] },
];

async function call(callTool, cwd, tool, args) {
  const env = { PATH: process.env.PATH, HOME: cwd };
  const answer = await run(callTool, [tool, '--output', 'response'], { cwd, env, input: JSON.stringify(args), limitMs: 60_000 });
  return JSON.parse(answer.stdout).output ?? '';
}

/** Looks for the name and reads the first file that is named: all of it, or what is said to be the definition. */
async function answers(callTool, cwd, name, definitions) {
  const pattern = `\\b${name}\\b`;
  const found = await call(callTool, cwd, 'search_file_content', definitions ? { pattern, definitions: true } : { pattern });
  const file = /^File: (.*)$/m.exec(found)?.[1];
  const lines = /^L(\d+)-(\d+): /m.exec(found);
  const part = lines ? { start_line: Number(lines[1]), end_line: Number(lines[2]) } : {};
  return [found, file ? await call(callTool, cwd, 'read_file', { absolute_path: file, ...part }) : '', lines !== null];
}

/** Counts the tokens up to the definition with `definitions` and without. */
export async function measureQuestions(options) {
  const count = await tokenizer();
  const sums = [0, 0];
  let asked = 0;
  let found = 0;
  for (const { asked: names, ...one } of QUESTIONS) {
    const [{ directories }] = await getPackages([{ ...one, title: one.name }]);
    const cwd = fs.realpathSync(directories[1]);
    for (const name of names) {
      const both = [await answers(options['call-tool'], cwd, name, false), await answers(options['call-tool'], cwd, name, true)];
      both.forEach(([list, text], i) => (sums[i] += count(list) + count(text)));
      asked += 1;
      found += both[1][2] && both[1][1].includes(name) ? 1 : 0;
    }
  }
  console.log(`${asked} questions, ${found} definitions read: ${sums[0]} tokens without definitions, ${sums[1]} with, ${(sums[1] / sums[0]).toFixed(2)} of them`);
}
