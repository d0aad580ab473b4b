// Copilot CLI asks no login of those who bring a model of their own.

export default {
  name: 'copilot',
  packages: ['@github/copilot@1.0.102'],
  program: '@github/copilot-linux-x64/copilot',
  args: (prompt) => ['-p', prompt, '--allow-tool', 'gemini-tools'],
  variables: (url) => ({
    COPILOT_OFFLINE: 'true',
    COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
    COPILOT_PROVIDER_API_KEY: 'none',
    COPILOT_MODEL: 'm',
  }),
  // Offline it knows of no model that it sees images.
  hidesImages: true,
};
