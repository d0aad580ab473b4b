// opencode asks nothing in `run`. Its limit of 50 KiB is client_host.rs'.

export default {
  name: 'opencode',
  packages: ['opencode-ai@1.18.33'],
  program: 'opencode-linux-x64/bin/opencode',
  args: (prompt) => ['run', '--model', 'standin/m', prompt],
  variables: () => ({ OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_LSP_DOWNLOAD: '1' }),
  settings: (url) => ({
    'work space/opencode.json': JSON.stringify({
      // It would add this.
      $schema: 'https://opencode.ai/config.json',
      provider: {
        standin: {
          npm: '@ai-sdk/openai-compatible',
          options: { baseURL: `${url}/v1`, apiKey: 'none' },
          models: { m: { modalities: { input: ['text', 'image'], output: ['text'] } } },
        },
      },
    }),
  }),
};
