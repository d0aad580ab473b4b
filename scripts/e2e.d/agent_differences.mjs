// Owns the list of the differences between what run_agent and Gemini CLI do that are meant to be, each with its reason.

import { DISCOVERED } from './records.mjs';

const OLD = '0.8.2';
const NEW = '0.61.0';

/** What 0.61.0 writes where a model has not signed a call. */
const NO_SIGNATURE = 'skip_thought_signature_validator';

const ANSWER = String.raw`\.messages\[\d+\]\.responses\[\d+\]`;

/**
 * `id` names an entry; `fits` gets `{place, ours, theirs, scenario, way, version}`. The other keys are for the table of the
 * documentation: where the difference is, what either side does, and why.
 */
export const DIFFERENCES = [
  {
    id: 'user agent',
    fits: ({ place, ours, theirs }) =>
      /\.headers\.user-agent$/.test(place) && /^gemini-tools\/<version> \([^)]+\)$/.test(ours) && /^GeminiCLI(-\w+)?\/\S+ \(/.test(theirs),
    where: 'Header `user-agent`',
    we: '`gemini-tools/VERSION (OS; ARCH)`',
    they: '`GeminiCLI/…`, in 0.61.0 with the model',
    why: 'We say who we are.',
  },
  {
    id: 'library header',
    fits: ({ place, ours, theirs }) => /\.headers\.x-goog-api-client$/.test(place) && ours === undefined && /^(google-genai-sdk|gl-node)\//.test(theirs),
    where: 'Header `x-goog-api-client`',
    we: 'None.',
    they: "Name and version of Google's library.",
    why: 'It names a library that we do not use.',
  },
  {
    id: 'tools of the host',
    fits: ({ place, ours, theirs }) => /\.tools\.ofTheHost$/.test(place) && ours === '(none)' && theirs === 'some',
    where: 'Tools',
    we: 'Those of our pair, which are the built-in ones.',
    they: 'Tools of its own besides. In 0.8.2, a discovered tool takes the place of an own one of the same name; in 0.61.0, both are declared.',
    why: 'The tools of our pair are there once. Beside another pair run_agent has them too, as the scenario about one shows.',
  },
  {
    id: 'prefix',
    fits: ({ place, ours, theirs, version }) =>
      version === NEW && /(\.tools\.ofThePair\.\w+|\.parts\[\d+\]|\.responses\[\d+\])\.name$/.test(place) && theirs === DISCOVERED + ours,
    where: 'Names of tools, in declarations, calls and answers',
    we: 'Those of the pair.',
    they: `In 0.61.0, they have the prefix \`${DISCOVERED}\`.`,
    why: 'The prefix keeps them apart from the host\'s own tools; here a discovered tool has it only where its own name is taken.',
  },
  {
    id: 'longer descriptions',
    fits: ({ place, ours, theirs }) => /\.tools\.ofThePair\.\w+\.description$/.test(place) && ours === 'as printed' && theirs === 'longer',
    where: 'Descriptions of tools',
    we: 'As the discovery command prints them.',
    they: 'The same, and behind it how the tool was discovered and how its command is called.',
    why: 'A model can do nothing with the names of the commands, and each request would pay for the text.',
  },
  {
    id: 'wait_for_previous',
    fits: ({ place, ours, theirs, version }) =>
      version === NEW && /\.tools\.ofThePair\.\w+\.schema$/.test(place) && ours === 'as printed' && theirs === 'as printed, wait_for_previous',
    where: 'Schemas of tools',
    we: 'As the discovery command prints them.',
    they: 'In 0.61.0, `wait_for_previous` is added to the properties.',
    why: 'run_agent decides by itself what may run side by side: calls that only read do, all others run alone and in order.',
  },
  {
    id: 'opening',
    fits: ({ place, ours, theirs, version }) =>
      version === NEW && /\.opening$/.test(place) && ours === 'user: text | model: text | user: the prompt' && theirs === 'user: text, the prompt',
    where: 'First messages',
    we: 'The environment, an acknowledgement of the model, the prompt: three messages, as in 0.8.2.',
    they: 'In 0.61.0, the environment and the prompt are two parts of one message.',
    why: 'The versions differ among themselves; run_agent does what 0.8.2 does.',
  },
  {
    id: 'unwrapped answer',
    fits: ({ place, ours, theirs }) => new RegExp(`${ANSWER}\\.form$`).test(place) && ours === 'text' && theirs === 'the printed document',
    where: 'Answers of our tools',
    we: "The tool's text is the `output`.",
    they: 'The whole JSON document that `call_tool` prints is the `output`, as text.',
    why: 'run_agent knows what the document means. The model gets the same text without a layer of escapes; the comparison checks that it is the same.',
  },
  {
    id: 'unwrapped failure',
    fits: ({ place, ours, theirs }) =>
      new RegExp(`${ANSWER}\\.form$`).test(place) && ours === 'text' && theirs === 'five lines around the printed document',
    where: 'Failures of our tools',
    we: "The tool's message is the `error`.",
    they: 'Five lines are the `error`: standard output with the JSON document, standard error, error, exit code, signal.',
    why: 'As above; the message is the same. A command of another program that fails gets the five lines from run_agent, too.',
  },
  {
    id: 'media beside the answer',
    fits: ({ place, ours, theirs, scenario }) =>
      scenario === 'an image result' && /\.messages\[1\]\.kinds$/.test(place) && ours === 'functionResponse, inlineData' && theirs === 'functionResponse',
    where: 'Answers with media',
    we: 'The image is a part beside the `functionResponse`.',
    they: "The image is base64 inside the text of the `output`. (0.8.2 puts images of its own tools where we put them.)",
    why: 'A model sees an image only where it is a part. The comparison checks that it is the same image.',
  },
  {
    id: 'texts beside the answer',
    fits: ({ place, ours, theirs, scenario }) =>
      scenario === 'a list of parts' &&
      ((/\.messages\[1\]\.kinds$/.test(place) &&
        ours === 'functionResponse, text, inlineData, text, text, functionResponse' &&
        theirs === 'functionResponse, functionResponse') ||
        (new RegExp(`${ANSWER}\\.form$`).test(place) && ours === 'texts beside it' && theirs === 'the printed document')),
    where: 'Answers that are a list of parts',
    we: 'The `output` is `Tool execution succeeded.`; texts and media follow as parts, in their order.',
    they: 'All of it is in the text of the `output`. (0.8.2 does with lists of its own tools what we do.)',
    why: 'The order tells which text belongs to which image. The comparison checks that texts and media are the same.',
  },
  {
    id: 'unknown tool',
    fits: ({ place, ours, theirs, scenario }) =>
      scenario === 'an unknown tool' &&
      new RegExp(`${ANSWER}\\.said$`).test(place) &&
      /^There is no tool (no_such_tool\. The tools are: |read_fil\. Did you mean read_file)/.test(ours) &&
      /^Tool "(no_such_tool|read_fil)" not found/.test(theirs),
    where: 'Answer to the call of a tool that is not there',
    we: 'The names that are spelled in a similar way, and where there are none, all.',
    they: 'Always three names, those that are nearest.',
    why: 'Three names that are nothing alike do not help a model; all of them do.',
  },
  {
    id: 'bad arguments',
    fits: ({ place, ours, theirs, scenario }) =>
      ['bad arguments', 'a foreign pair'].includes(scenario) &&
      new RegExp(`${ANSWER}\\.said$`).test(place) &&
      /^"(absolute_path|name)" (must be a string|is missing)/.test(ours) &&
      /^params/.test(theirs),
    where: 'Answer to arguments that do not fit the schema',
    we: 'The name of the argument, what it must be, and the value that was given, in the words of `call_tool`.',
    they: 'The words of its schema checker.',
    why: 'The model sees what it got wrong. Commands of others are not started with such arguments here either; `call_tool` is, for it understands more than it declares.',
  },
  {
    id: 'refused, and why',
    fits: ({ place, ours, theirs, scenario, version }) =>
      version === NEW &&
      scenario === 'a refused call' &&
      new RegExp(`${ANSWER}\\.said$`).test(place) &&
      /needs the user's approval/.test(ours) &&
      /requires user confirmation/.test(theirs),
    where: 'Answer to a call without approval',
    we: 'That a user has to approve, and what the model can do instead.',
    they: 'In 0.61.0, that this mode does not support confirmation.',
    why: 'The model can go on with it.',
  },
  {
    id: 'not asked about',
    fits: ({ place, ours, theirs, scenario, version }) =>
      version === OLD &&
      scenario === 'a refused call' &&
      ((/\.said$/.test(place) && /needs the user's approval/.test(ours) && /^Successfully created and wrote to new file: <workspace>\/four\.txt/.test(theirs)) ||
        (/\.keysOfResponse$/.test(place) && ours === 'error' && theirs === 'output') ||
        (place === 'files.four.txt' && ours === undefined)),
    where: 'A call without approval',
    we: 'It is refused.',
    they: '0.8.2 does not ask about a discovered tool, whatever it does: the file is written.',
    why: 'Without `--yolo` or the like, nothing is changed without approval.',
  },
  {
    id: 'ids of calls that had none',
    fits: ({ place, ours, theirs, scenario, version }) =>
      version === NEW &&
      scenario === 'calls without ids' &&
      ((/\.parts\[\d+\]\.id$/.test(place) && ours === '(none)' && theirs === '(made)') ||
        (new RegExp(`${ANSWER}\\.id$`).test(place) && ours === '(made)' && theirs === 'that of its call')),
    where: 'Calls to which the model gave no id',
    we: 'The answer has an id that was made for it; the call in the history stays as the model made it, as in 0.8.2.',
    they: 'In 0.61.0, the id is written to the call in the history as well.',
    why: 'The versions differ among themselves; run_agent gives back what a model has said as it was said, as 0.8.2 does.',
  },
  {
    id: 'signatures that were not given',
    fits: ({ place, ours, theirs, version }) =>
      version === NEW && /\.parts\[\d+\]\.signature$/.test(place) && ours === '(none)' && theirs === NO_SIGNATURE,
    where: 'A call that the model has not signed',
    we: 'It goes back without a signature.',
    they: `In 0.61.0, \`${NO_SIGNATURE}\` is put in its place.`,
    why: 'What a model has said is given back as it was said. Signatures that it has given are kept, as the scenario about them shows.',
  },
  {
    id: 'retry in other words',
    fits: ({ place, ours, theirs, scenario, version }) =>
      version === NEW &&
      scenario === 'an empty answer and retry' &&
      /\.opening$/.test(place) &&
      ours === 'user: text | model: text | user: the prompt' &&
      theirs === 'user: text, the prompt, text',
    where: 'Request behind an empty answer',
    we: 'The same request once more, as in 0.8.2.',
    they: 'In 0.61.0, a text is added that asks for an answer.',
    why: 'The user has not said it. The versions differ among themselves; run_agent does what 0.8.2 does.',
  },
];

/** The entry that a difference belongs to, if any. */
export function justified(difference) {
  return DIFFERENCES.find((entry) => entry.fits(difference));
}
