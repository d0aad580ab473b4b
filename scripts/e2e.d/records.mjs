// Owns the reading of recorded requests: which belong to the conversation, what was declared to the model, what came back
// for its calls. Leaves the recording to gemini_api.mjs, and what the answers say to answers.mjs.

/** What Gemini CLI 0.61 puts before the name of a discovered tool. */
export const DISCOVERED = 'discovered_tool_';

/** The requests of the conversation itself, in order, without side questions. */
export function conversation(recorded) {
  return recorded.filter((entry) => entry.kind === 'turn');
}

/** What the model was told about its tools, by name. */
export function declarationsOf(request) {
  const declared = new Map();
  for (const tool of request?.tools ?? []) {
    for (const declaration of tool.functionDeclarations ?? []) {
      const known = declared.get(declaration.name) ?? { count: 0 };
      declared.set(declaration.name, {
        count: known.count + 1,
        description: declaration.description ?? '',
        schema: declaration.parametersJsonSchema ?? declaration.parameters ?? {},
      });
    }
  }
  return declared;
}

/** The name under which a tool of ours is declared: Gemini CLI 0.8 keeps it, 0.61 puts a prefix before it. */
export function declaredName(declared, tool) {
  return declared.has(DISCOVERED + tool) ? DISCOVERED + tool : tool;
}

/**
 * By call id: the call and the functionResponse that the host sent for it, as it stood in the first request that held
 * it; later requests may carry a shortened history.
 */
export function answersTo(script, recorded) {
  const answers = new Map();
  for (const { transport, body } of conversation(recorded)) {
    let turn = -1;
    for (const content of requestIn(transport, body).contents ?? []) {
      if (callsIn(content).length > 0) turn += 1;
      // Paired by position, for 0.61 does not send back the ids that the model gave.
      responsesIn(content).forEach((functionResponse, position) => {
        const call = script.turns[turn]?.[position];
        if (call && !answers.has(call.id)) answers.set(call.id, { call, functionResponse });
      });
    }
  }
  return answers;
}

/** How long the host took from receiving each turn's calls to coming back with all answers. */
export function turnTimes(script, recorded) {
  const requests = conversation(recorded);
  return script.turns.flatMap((calls, turn) => {
    const [asked, answered] = [requests[turn], requests[turn + 1]];
    return asked && answered ? [{ tools: calls.map((call) => call.tool), ms: answered.at - asked.answeredAt }] : [];
  });
}

/** The request for the model inside of a body; Code Assist puts an envelope around it. */
export function requestIn(transport, body) {
  return (transport === 'code-assist' ? body?.request : body) ?? {};
}

/** The model's calls that stand in one message of the history. */
export function callsIn(content) {
  if (content.role !== 'model') return [];
  return (content.parts ?? []).flatMap((part) => part.functionCall ?? []);
}

/** The host's answers to calls that stand in one message of the history. */
export function responsesIn(content) {
  return (content.parts ?? []).flatMap((part) => part.functionResponse ?? []);
}
