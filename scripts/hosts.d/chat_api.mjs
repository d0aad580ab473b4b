// Owns the stand-in of the Chat Completions API on the loopback interface: it plays a list of steps to a host, and keeps
// each request of the conversation.

import http from 'node:http';

/** The name by which the host has declared one of our tools: each has a prefix of its own. */
function declaredName(body, tool) {
  const names = body.tools.map((declared) => declared.function?.name ?? '');
  return names.find((name) => name.includes('gemini-tools') && name.endsWith(tool)) ?? tool;
}

/**
 * Starts it. A step is `{tool, args}`, which becomes a call, or `{say}`; the last one repeats. Requests that declare none
 * of our tools are side questions, for a title or a summary, and get a word.
 */
export async function startChatApi(steps) {
  const requests = [];
  const server = http.createServer(async (request, response) => {
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    const json = (body) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(body));
    };
    if (!request.url.endsWith('/chat/completions')) return json({ object: 'list', data: [{ id: 'm', object: 'model' }] });
    const body = JSON.parse(Buffer.concat(pieces).toString('utf8'));
    let step = { say: 'ok' };
    if (body.tools?.some((declared) => declared.function?.name.includes('gemini-tools'))) {
      step = steps[Math.min(requests.length, steps.length - 1)];
      requests.push(body);
    }
    const call = step.tool && {
      index: 0,
      id: `call_${requests.length}`,
      type: 'function',
      function: { name: declaredName(body, step.tool), arguments: JSON.stringify(step.args) },
    };
    const message = { role: 'assistant', content: step.say ?? '', ...(call && { tool_calls: [call] }) };
    const finish_reason = call ? 'tool_calls' : 'stop';
    const usage = { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 };
    const head = { id: 'c', created: 1, model: 'm' };
    if (!body.stream) {
      return json({ ...head, object: 'chat.completion', usage, choices: [{ index: 0, finish_reason, message }] });
    }
    response.setHeader('content-type', 'text/event-stream');
    for (const rest of [
      { choices: [{ index: 0, delta: message, finish_reason: null }] },
      { choices: [{ index: 0, delta: {}, finish_reason }] },
      { choices: [], usage },
    ]) {
      response.write(`data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...rest })}\n\n`);
    }
    response.end('data: [DONE]\n\n');
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    requests,
    close: () => server.closeAllConnections() ?? server.close(),
  };
}

/** The words of a message's content. */
export function words(content) {
  if (typeof content === 'string') return content;
  return (content ?? []).map((part) => part.text ?? '').join('');
}

/** What the model got after its call of this number, from 1: the messages that the next request added. */
export function answerTo(requests, number) {
  const messages = requests[number]?.messages ?? [];
  const at = messages.findIndex((message) => message.tool_calls?.some((call) => call.id === `call_${number}`));
  return at < 0 ? [] : messages.slice(at + 1);
}
