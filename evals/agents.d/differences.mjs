// The intended differences between the requests of run_agent and of Gemini CLI; docs/compatibility.md has their reasons.

import { DISCOVERED } from '../../scripts/e2e.d/records.mjs';

const OLD = '0.8.2';
const NEW = '0.61.0';

/** What 0.61.0 writes where a model has not signed a call. */
const NO_SIGNATURE = 'skip_thought_signature_validator';

const ANSWER = String.raw`\.messages\[\d+\]\.responses\[\d+\]`;

/** `id` is the name in the first column of the documentation's table; `fits` gets `{place, ours, theirs, scenario, way, version}`. */
export const DIFFERENCES = [
  {
    id: 'user agent',
    fits: ({ place, ours, theirs }) =>
      /\.headers\.user-agent$/.test(place) && /^gemini-tools\/<version> \([^)]+\)$/.test(ours) && /^GeminiCLI(-\w+)?\/\S+ \(/.test(theirs),
  },
  {
    id: 'library header',
    fits: ({ place, ours, theirs }) => /\.headers\.x-goog-api-client$/.test(place) && ours === undefined && /^(google-genai-sdk|gl-node)\//.test(theirs),
  },
  {
    id: 'tools of the host',
    fits: ({ place, ours, theirs }) => /\.tools\.ofTheHost$/.test(place) && ours === '(none)' && theirs === 'some',
  },
  {
    id: 'prefix',
    fits: ({ place, ours, theirs, version }) =>
      version === NEW && /(\.tools\.ofThePair\.\w+|\.parts\[\d+\]|\.responses\[\d+\])\.name$/.test(place) && theirs === DISCOVERED + ours,
  },
  {
    id: 'longer descriptions',
    fits: ({ place, ours, theirs }) => /\.tools\.ofThePair\.\w+\.description$/.test(place) && ours === 'as printed' && theirs === 'longer',
  },
  {
    id: 'wait_for_previous',
    fits: ({ place, ours, theirs, version }) =>
      version === NEW && /\.tools\.ofThePair\.\w+\.schema$/.test(place) && ours === 'as printed' && theirs === 'as printed, wait_for_previous',
  },
  {
    id: 'opening',
    fits: ({ place, ours, theirs, version }) =>
      version === NEW && /\.opening$/.test(place) && ours === 'user: text | model: text | user: the prompt' && theirs === 'user: text, the prompt',
  },
  {
    id: 'unwrapped answer',
    fits: ({ place, ours, theirs }) => new RegExp(`${ANSWER}\\.form$`).test(place) && ours === 'text' && theirs === 'the printed document',
  },
  {
    id: 'unwrapped failure',
    fits: ({ place, ours, theirs }) =>
      new RegExp(`${ANSWER}\\.form$`).test(place) && ours === 'text' && theirs === 'five lines around the printed document',
  },
  {
    id: 'media beside the answer',
    fits: ({ place, ours, theirs, scenario }) =>
      scenario === 'an image result' && /\.messages\[1\]\.kinds$/.test(place) && ours === 'functionResponse, inlineData' && theirs === 'functionResponse',
  },
  {
    id: 'texts beside the answer',
    fits: ({ place, ours, theirs, scenario }) =>
      scenario === 'a list of parts' &&
      ((/\.messages\[1\]\.kinds$/.test(place) &&
        ours === 'functionResponse, text, inlineData, text, text, functionResponse' &&
        theirs === 'functionResponse, functionResponse') ||
        (new RegExp(`${ANSWER}\\.form$`).test(place) && ours === 'texts beside it' && theirs === 'the printed document')),
  },
  {
    id: 'unknown tool',
    fits: ({ place, ours, theirs, scenario }) =>
      scenario === 'an unknown tool' &&
      new RegExp(`${ANSWER}\\.said$`).test(place) &&
      /^There is no tool (no_such_tool\. The tools are: |read_fil\. Did you mean read_file)/.test(ours) &&
      /^Tool "(no_such_tool|read_fil)" not found/.test(theirs),
  },
  {
    id: 'bad arguments',
    fits: ({ place, ours, theirs, scenario }) =>
      ['bad arguments', 'a foreign pair'].includes(scenario) &&
      new RegExp(`${ANSWER}\\.said$`).test(place) &&
      /^"(absolute_path|name)" (must be a string|is missing)/.test(ours) &&
      /^params/.test(theirs),
  },
  {
    id: 'refused, and why',
    fits: ({ place, ours, theirs, scenario, version }) =>
      version === NEW &&
      scenario === 'a refused call' &&
      new RegExp(`${ANSWER}\\.said$`).test(place) &&
      /needs the user's approval/.test(ours) &&
      /requires user confirmation/.test(theirs),
  },
  {
    id: 'not asked about',
    fits: ({ place, ours, theirs, scenario, version }) =>
      version === OLD &&
      scenario === 'a refused call' &&
      ((/\.said$/.test(place) && /needs the user's approval/.test(ours) && /^Successfully created and wrote to new file: <workspace>\/four\.txt/.test(theirs)) ||
        (/\.keysOfResponse$/.test(place) && ours === 'error' && theirs === 'output') ||
        (place === 'files.four.txt' && ours === undefined)),
  },
  {
    id: 'ids of calls that had none',
    fits: ({ place, ours, theirs, scenario, version }) =>
      version === NEW &&
      scenario === 'calls without ids' &&
      ((/\.parts\[\d+\]\.id$/.test(place) && ours === '(none)' && theirs === '(made)') ||
        (new RegExp(`${ANSWER}\\.id$`).test(place) && ours === '(made)' && theirs === 'that of its call')),
  },
  {
    id: 'signatures that were not given',
    fits: ({ place, ours, theirs, version }) =>
      version === NEW && /\.parts\[\d+\]\.signature$/.test(place) && ours === '(none)' && theirs === NO_SIGNATURE,
  },
  {
    id: 'retry in other words',
    fits: ({ place, ours, theirs, scenario, version }) =>
      version === NEW &&
      scenario === 'an empty answer and retry' &&
      /\.opening$/.test(place) &&
      ours === 'user: text | model: text | user: the prompt' &&
      theirs === 'user: text, the prompt, text',
  },
];

/** The entry that a difference belongs to, if any. */
export function justified(difference) {
  return DIFFERENCES.find((entry) => entry.fits(difference));
}
