// Owns the ways in which Gemini CLI is sent to the stand-in: the variables of each, and the type that its settings name.
// Leaves what the stand-in does with them to transports.mjs.

const PROJECT = 'stand-in-project';
const LOCATION = 'us-central1';

export const API_KEY = {
  name: 'api-key',
  authType: 'gemini-api-key',
  variables: (url) => ({ GEMINI_API_KEY: 'stand-in', GOOGLE_GEMINI_BASE_URL: url }),
};

const VERTEX_WITH_KEY = {
  name: 'vertex-with-key',
  authType: 'vertex-ai',
  variables: (url) => ({ GOOGLE_GENAI_USE_VERTEXAI: 'true', GOOGLE_API_KEY: 'stand-in', GOOGLE_VERTEX_BASE_URL: url }),
};

export const VERTEX_WITH_TOKEN = {
  name: 'vertex-with-token',
  authType: 'vertex-ai',
  variables: (url) => ({
    GOOGLE_GENAI_USE_VERTEXAI: 'true',
    GOOGLE_CLOUD_PROJECT: PROJECT,
    GOOGLE_CLOUD_LOCATION: LOCATION,
    GOOGLE_VERTEX_BASE_URL: url,
    // The library has no variable for a token; it asks the metadata server for one.
    GCE_METADATA_HOST: new URL(url).host,
    METADATA_SERVER_DETECTION: 'assume-present',
  }),
};

const CODE_ASSIST = {
  name: 'code-assist',
  authType: 'oauth-personal',
  variables: (url) => ({ GOOGLE_GENAI_USE_GCA: 'true', GOOGLE_CLOUD_ACCESS_TOKEN: 'stand-in', CODE_ASSIST_ENDPOINT: url }),
};

export const WAYS_IN = [API_KEY, VERTEX_WITH_KEY, VERTEX_WITH_TOKEN, CODE_ASSIST];
