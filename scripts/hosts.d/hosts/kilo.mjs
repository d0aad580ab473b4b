// Kilo Code, made from opencode.

export default {
  name: 'kilo',
  packages: ['@kilocode/cli-linux-x64@7.7.9'],
  program: '@kilocode/cli-linux-x64/bin/kilo',
  args: (prompt) => ['run', '--model', 'standin/m', prompt],
  variables: () => ({ KILO_DISABLE_AUTOUPDATE: '1', KILO_DISABLE_MODELS_FETCH: '1', KILO_DISABLE_LSP_DOWNLOAD: '1' }),
  settings: (url) => ({
    'work space/kilo.json': JSON.stringify({
      // It would add this.
      $schema: 'https://app.kilo.ai/config.json',
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
