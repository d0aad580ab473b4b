// Owns a stand-in of the machine's metadata server, by which Google's libraries find a token without a login: whoever sets
// GCE_METADATA_HOST to the stand-in's host and port gets the token `stand-in`. Leaves everything else to gemini_api.mjs.

const BASE = /^\/computeMetadata\/v1(?:\/(.*))?$/;
const ACCOUNT = 'instance/service-accounts/default';
const TOKEN = { access_token: 'stand-in', expires_in: 3600, token_type: 'Bearer' };

const VALUES = {
  [`${ACCOUNT}/token`]: JSON.stringify(TOKEN),
  [`${ACCOUNT}/email`]: 'stand-in@stand-in-project.iam.gserviceaccount.com',
  'project/project-id': 'stand-in-project',
  'universe/universe-domain': 'googleapis.com',
  'universe/universe_domain': 'googleapis.com',
  instance: '{}',
};

/** A reply to a path of the metadata server, or nothing for other paths. */
export function metadataAnswer(path) {
  const found = BASE.exec(path);
  if (!found) return undefined;
  const text = VALUES[(found[1] ?? 'instance').replace(/\/$/, '')];
  const headers = { 'metadata-flavor': 'Google', 'content-type': text?.startsWith('{') ? 'application/json' : 'application/text' };
  return { status: text === undefined ? 404 : 200, headers, text: text ?? '' };
}
