// Owns the text of docs/agent-and-gemini-cli.md, made of what a whole run has shown.

import { DIFFERENCES } from './agent_differences.mjs';
import { SCENARIOS } from './agent_scenarios.mjs';
import { DISCOVERED } from './records.mjs';
import { API_KEY } from './ways_in.mjs';

const HEAD = `# run_agent and Gemini CLI

The same turns of a model are played to \`run_agent\` and to the real Gemini CLI, both headless and both with our pair of
commands, and what they send is compared request by request. \`scripts/agents\` does it, against a stand-in of the API on
the loopback interface, and writes this page (\`--write-doc\`). It fails where a difference is found that the table below
does not have, where one of the table is found no more, and where this page is not what it would write.
`;

const COMPARED = `## What is compared

For each request of the conversation: address, headers, the keys of the body, the envelope of Code Assist, the settings
for generation, the form of the system prompt and of the first messages, the declarations of tools with their schemas, and
each message behind the prompt: its role, the kinds of its parts in their order, names, arguments and ids of calls and
answers, signatures of thoughts, texts and media. Besides: how many requests there are, the files of the workspace
afterwards, and the exit status.

Not compared: the words of the system prompt and of the first message, which each host writes for itself; the headers
\`accept\`, \`accept-language\`, \`accept-encoding\` and \`sec-fetch-mode\`; and questions besides the conversation, such as
which model to take.

Both are told to ask the same model: \`gemini-2.5-pro\` beside 0.8.2, \`gemini-3.1-pro-preview\` beside 0.61.0. They run with
\`--yolo\`, but for the refused call. There run_agent is given no approval, and neither is 0.8.2; 0.61.0 gets a policy by
which it has to ask about \`write_file\`, for without any rule it would not show the tool to the model.
`;

export function documentOf(comparisons) {
  return [HEAD, COMPARED, scenarioTable(comparisons), waysIn(comparisons), differenceTable(comparisons)].join('\n');
}

function scenarioTable(comparisons) {
  const versions = versionsOf(comparisons);
  const rows = SCENARIOS.map(({ name, what }) => {
    const own = comparisons.filter(({ scenario, way }) => scenario.name === name && way === API_KEY);
    const ours = [...new Set(own.map(({ deeds }) => inShort(deeds.ours)))].join('; or ');
    return [name, what, ours, ...versions.map((version) => inShort(own.find((one) => one.version === version).deeds.theirs))];
  });
  return `## Scenarios\n\nWhat each host did: its requests, and what the tools answered.\n\n${table(['Scenario', 'What happens', 'run_agent', ...versions], rows)}
The two Python scripts run through run_agent as they are: they get the same arguments and the same standard input as from
Gemini CLI, in the same directory, and the model gets the same answers, that of the failing one in the same five lines.
`;
}

function inShort({ status, files, requests }) {
  const answers = (requests.at(-1)?.messages ?? []).flatMap((message) => message.responses ?? []);
  const counts = new Map();
  for (const { name, keysOfResponse, media } of answers) {
    const answer = `${name.replace(DISCOVERED, '')}: ${[keysOfResponse, ...media.map((one) => one.split(',')[0])].join(' + ')}`;
    counts.set(answer, (counts.get(answer) ?? 0) + 1);
  }
  const written = ['four.txt', 'five.txt'].filter((name) => name in files);
  return [
    `${requests.length} ${requests.length === 1 ? 'request' : 'requests'}`,
    ...[...counts].map(([answer, count]) => (count > 1 ? `${count} × ${answer}` : answer)),
    ...(written.length > 0 ? [`wrote ${written.join(' and ')}`] : []),
    ...(status === 0 ? [] : [`exit status ${status}`]),
  ].join('; ');
}

function waysIn(comparisons) {
  const elsewhere = comparisons.filter(({ way }) => way !== API_KEY);
  const names = (list) => [...new Set(list)].join(', ');
  return `## Transports

All scenarios are played with an API key. The other ways are Vertex AI with a key, Vertex AI with a token, and Code Assist;
what is played over each of them, beside ${names(elsewhere.map(({ version }) => version))}:

${[...new Set(elsewhere.map(({ scenario }) => `- ${scenario.name}\n`))].join('')}
For Vertex AI with a token, run_agent is given one in \`GOOGLE_CLOUD_ACCESS_TOKEN\`, while Gemini CLI's library asks the
metadata server; the requests are the same.
`;
}

function differenceTable(comparisons) {
  const rows = DIFFERENCES.map((entry) => {
    const showing = comparisons.filter(({ found }) => found.some((one) => one.entry === entry));
    return [entry.id, entry.where, entry.we, entry.they, entry.why, shownIn(showing, comparisons)];
  });
  return `## Differences

${table(['Difference', 'Where', 'run_agent', 'Gemini CLI', 'Why', 'Seen in'], rows)}`;
}

function shownIn(showing, comparisons) {
  const byVersion = versionsOf(comparisons).map((version) => {
    const names = new Set(showing.filter((one) => one.version === version).map(({ scenario }) => scenario.name));
    return [version, names.size === 0 ? '' : inWords([...names])];
  });
  const [[, first]] = byVersion;
  if (byVersion.every(([, words]) => words === first)) return first;
  return byVersion.filter(([, words]) => words).map((pair) => pair.join(': ')).join('; ');
}

function inWords(names) {
  if (names.length === SCENARIOS.length) return 'all';
  return names.length > SCENARIOS.length / 2 ? `${names.length} of ${SCENARIOS.length}` : names.join(', ');
}

function versionsOf(comparisons) {
  return [...new Set(comparisons.map(({ version }) => version))];
}

function table(head, rows) {
  const line = (cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`;
  return [line(head), `|${head.map(() => '---|').join('')}\n`, ...rows.map(line)].join('');
}
