// Owns the choice: which kind a request is of, and what the script answers to it. Leaves how the answer's content is
// written to contents.mjs, what a fault does to faults.mjs, and the sending to wire.mjs.

import { codeAssistAnswer, contentOf, defaultFetch, defaultSearch, sideAnswer, turnAnswer } from './contents.mjs';
import { FAULT_NAMES, ownContent, useOfAnswer } from './faults.mjs';
import { declarationsOf } from './records.mjs';
import { CODE_ASSIST } from './transports.mjs';

const GENERATING = ['generateContent', 'streamGenerateContent'];
const LISTS = ['answers', 'faults', 'search', 'fetch'];
const SCRIPT_KEYS = [...LISTS, 'turns', 'closing'];
const MATCH_KEYS = ['kind', 'transport', 'method', 'model', 'path', 'contains'];

/** `turn`, `side`, `search`, `fetch`, `count`, `models`, `service` (what Code Assist has besides), or `unknown`. */
export function kindOf({ transport, method, verb, request }) {
  if (method === 'countTokens') return 'count';
  if (GENERATING.includes(method)) return kindOfQuestion(request);
  if (transport === CODE_ASSIST) return 'service';
  return transport && verb === 'GET' ? 'models' : 'unknown';
}

function kindOfQuestion(request) {
  // Routing, next-speaker and loop checks ask for JSON of a given schema; the conversation never does.
  const config = request.generationConfig ?? {};
  if (config.responseJsonSchema || config.responseSchema || config.responseMimeType === 'application/json') return 'side';
  if (declarationsOf(request).size > 0) return 'turn';
  const tools = request.tools ?? [];
  if (tools.some((tool) => tool.urlContext)) return 'fetch';
  return tools.some((tool) => tool.googleSearch) ? 'search' : 'side';
}

export class Player {
  #script;
  #left = new Map();

  constructor(script) {
    checkScript(script);
    this.#script = script;
  }

  /** `{fault?, content}` for a request: what is answered, and what goes wrong with it. */
  answerTo(context) {
    const fault = this.#take(this.#script.faults, context, {});
    if (fault) return this.#disturbed(fault, context);
    const answer = this.#takeAnswer(context);
    if (answer?.fault) return this.#disturbed(answer, context);
    return { content: answer ? contentOf(answer, context) : this.#unscripted(context) };
  }

  #disturbed(fault, context) {
    if (ownContent(fault)) return { fault, content: contentOf(fault, context) };
    const use = useOfAnswer(fault);
    if (use === 'none') return { fault };
    // A repeated request has to find the answer that the fault destroyed.
    const answer = this.#takeAnswer(context, { keeps: use === 'look', plain: true });
    return { fault, content: answer ? contentOf(answer, context) : this.#unscripted(context) };
  }

  #takeAnswer(context, options) {
    const { kind } = context;
    const byKind = kind === 'search' || kind === 'fetch' ? this.#script[kind] : undefined;
    const isList = Array.isArray(byKind);
    return (
      this.#take(this.#script.answers, context, { kind: 'turn' }, options) ??
      (isList || !byKind ? this.#take(byKind, context, { kind }, options) : byKind)
    );
  }

  #take(list = [], context, usualMatch, { keeps = false, plain = false } = {}) {
    for (const entry of list) {
      if (plain && entry.fault) continue;
      const left = this.#left.get(entry) ?? (entry.times === 'always' ? Infinity : (entry.times ?? 1));
      if (left <= 0 || !fits(entry.match ?? usualMatch, context)) continue;
      if (!keeps) this.#left.set(entry, left - 1);
      return entry;
    }
    return undefined;
  }

  #unscripted(context) {
    switch (context.kind) {
      case 'turn':
        return turnAnswer(this.#script, context);
      case 'search':
        return defaultSearch(context);
      case 'fetch':
        return defaultFetch(context);
      case 'count':
        return { body: { totalTokens: Math.ceil(JSON.stringify(context.request).length / 4) } };
      case 'models':
        return { body: { models: [] } };
      case 'service':
        return codeAssistAnswer(context);
      case 'side':
        return sideAnswer(context);
      default:
        return undefined;
    }
  }
}

function fits(match, context) {
  if (typeof match === 'function') return match(context);
  return Object.entries(match).every(([key, wanted]) => [wanted].flat().some((one) => holds(key, one, context)));
}

function holds(key, wanted, context) {
  if (key === 'contains') return context.text.includes(wanted);
  if (key === 'path') return context.path.includes(wanted);
  return context[key] === wanted;
}

/** Throws where a script has something that would silently do nothing. */
function checkScript(script) {
  if (script === null || typeof script !== 'object' || Array.isArray(script)) throw new Error('a script is an object');
  known('script', Object.keys(script), SCRIPT_KEYS);
  for (const list of LISTS) {
    for (const entry of [script[list] ?? []].flat()) {
      if (entry.fault !== undefined) known('fault', [entry.fault], FAULT_NAMES);
      else if (list === 'faults') throw new Error('an entry of faults has no fault');
      if (entry.match && typeof entry.match === 'object') known('match', Object.keys(entry.match), MATCH_KEYS);
    }
  }
}

function known(where, names, allowed) {
  const unknown = names.find((name) => !allowed.includes(name));
  if (unknown !== undefined) throw new Error(`${where}: '${unknown}' is none of ${allowed.join(', ')}`);
}
