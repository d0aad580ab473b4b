// Owns the three ways in to the Gemini API: which path belongs to which, what each asks for as a credential, and the
// envelope that Code Assist puts around its answers. Leaves what is answered to player.mjs.

import { apiError } from './errors.mjs';

export const API_KEY = 'api-key';
export const VERTEX = 'vertex';
export const CODE_ASSIST = 'code-assist';

/** The key and the token that are refused. Every other one is taken. */
const WRONG_KEY = 'wrong';
const EXPIRED_TOKEN = 'expired';

const MODEL = '([^/:]+):(\\w+)$';
const PLACE = '(?:projects/([^/]+)/locations/([^/]+)/)?';
const PATHS = [
  [API_KEY, new RegExp(`^/v1(?:beta)?/models/${MODEL}`), ['model', 'method']],
  [VERTEX, new RegExp(`^/v1(?:beta1)?/${PLACE}publishers/google/models/${MODEL}`), ['project', 'location', 'model', 'method']],
  [CODE_ASSIST, /^\/v1internal:(\w+)$/, ['method']],
  [API_KEY, /^\/v1(?:beta)?\/models$/, []],
];

/** `{transport, method, model, project, location}` of a path, as far as it tells; `{}` for one that the API hasn't. */
export function routeOf(path) {
  for (const [transport, pattern, names] of PATHS) {
    const found = pattern.exec(path);
    if (found) return { transport, ...Object.fromEntries(names.map((name, index) => [name, found[index + 1]])) };
  }
  return {};
}

/** The document as the transport puts it on the wire; errors have no envelope. */
export function enveloped(transport, document) {
  return transport === CODE_ASSIST && !('error' in document) ? { response: document } : document;
}

/** The answer to a request without the right kind of credential, or nothing where it has one. */
export function refusalOf({ transport, project }, headers, query) {
  const key = headers['x-goog-api-key'] ?? query.get('key');
  const [, token] = /^Bearer (.+)$/i.exec(headers.authorization ?? '') ?? [];
  const wantsKey = transport === API_KEY || (transport === VERTEX && !project);
  if (token === EXPIRED_TOKEN) return expiredToken(transport);
  if (wantsKey) {
    if (key === WRONG_KEY) return wrongKey(transport);
    if (key) return undefined;
    return token ? tokenInPlaceOfKey(transport) : noKey();
  }
  if (token) return undefined;
  return key ? keyInPlaceOfToken(transport) : noToken(transport);
}

function noKey() {
  const unknown = "Method doesn't allow unregistered callers (callers without established identity).";
  return apiError(403, `${unknown} Please use API Key or other form of API consumer identity to call this API.`);
}

function wrongKey(transport) {
  const message = 'API key not valid. Please pass a valid API key.';
  const localized = { '@type': 'type.googleapis.com/google.rpc.LocalizedMessage', locale: 'en-US', message };
  return apiError(400, message, [reason(transport, 'API_KEY_INVALID'), localized]);
}

function tokenInPlaceOfKey(transport) {
  const details = [reason(transport, 'ACCESS_TOKEN_SCOPE_INSUFFICIENT')];
  return apiError(403, 'Request had insufficient authentication scopes.', details);
}

const EXPECTED =
  'Expected OAuth 2 access token, login cookie or other valid authentication credential. ' +
  'See https://developers.google.com/identity/sign-in/web/devconsole-project.';

function noToken(transport) {
  const message = `Request is missing required authentication credential. ${EXPECTED}`;
  return apiError(401, message, [reason(transport, 'CREDENTIALS_MISSING')]);
}

function expiredToken(transport) {
  const message = `Request had invalid authentication credentials. ${EXPECTED}`;
  return apiError(401, message, [reason(transport, 'ACCESS_TOKEN_EXPIRED')]);
}

function keyInPlaceOfToken(transport) {
  const message =
    'API keys are not supported by this API. Expected OAuth2 access token or other authentication credentials that assert a ' +
    'principal. See https://cloud.google.com/docs/authentication';
  return apiError(401, message, [reason(transport, 'CREDENTIALS_MISSING')]);
}

const SERVICES = {
  [API_KEY]: 'generativelanguage.googleapis.com',
  [VERTEX]: 'aiplatform.googleapis.com',
  [CODE_ASSIST]: 'cloudcode-pa.googleapis.com',
};

function reason(transport, name) {
  const metadata = { service: SERVICES[transport] };
  return { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: name, domain: 'googleapis.com', metadata };
}
