// Owns the list of the differences between the requests of run_agent and those of Gemini CLI that are meant to be.

import { DISCOVERED } from './records.mjs';

const OLD = '0.8.2';
const NEW = '0.61.0';

/**
 * `id` names an entry; `fits` gets `{place, ours, theirs, scenario, way, version}`. The other keys are for the table of the
 * documentation: where the difference is, what either side does, and why.
 */
export const DIFFERENCES = [
  {
    id: 'user-agent',
    fits: ({ place, ours, theirs }) =>
      /\.headers\.user-agent$/.test(place) && /^gemini-tools\/<version> \(/.test(ours) && /^GeminiCLI\S*\/<version>/.test(theirs),
    where: 'header `user-agent`',
    we: '`gemini-tools/VERSION (OS; ARCH)`',
    they: '`GeminiCLI/…`, 0.61.0 with the surface and the model',
    why: 'We say who we are.',
  },
  {
    id: 'library header',
    fits: ({ place, ours, theirs }) => /\.headers\.x-goog-api-client$/.test(place) && ours === undefined && /^g/.test(theirs),
    where: 'header `x-goog-api-client`',
    we: 'none',
    they: "name and version of Google's library",
    why: 'It tells of a library that we do not use.',
  },
  {
    id: 'longer descriptions',
    fits: ({ place, ours, theirs }) => /\.tools\.ofThePair\.\w+\.description$/.test(place) && ours === 'as printed' && theirs === 'longer',
    where: 'tools: descriptions',
    we: 'as the discovery command prints them',
    they: 'the same, and how the tool was discovered and how it is called',
    why: 'A model has no use for the names of the commands, and the text costs tokens in every request.',
  },
  {
    id: 'prefix',
    fits: ({ place, ours, theirs, version }) =>
      version === NEW && /(\.tools\.ofThePair\.\w+|\.parts\[\d+\]|\.responses\[\d+\])\.name$/.test(place) && theirs === DISCOVERED + ours,
    where: 'tools, calls and answers: names',
    we: 'the names of the pair',
    they: `the same, with \`${DISCOVERED}\` before them (0.61.0 only)`,
    why: 'There it keeps them apart from tools of the host itself; run_agent has none.',
  },
];

/** The entry that a difference belongs to, if any. */
export function justified(difference) {
  return DIFFERENCES.find((entry) => entry.fits(difference));
}
