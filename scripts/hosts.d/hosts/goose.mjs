// goose has its settings in YAML, of which every comment must stay.

const CONFIG = `# mine
extensions:
  developer:
    enabled: false # the tools are ours
    type: builtin
    name: developer
`;

export default {
  name: 'goose',
  packages: ['@aaif/goose-binary-linux-x64@1.52.0'],
  program: '@aaif/goose-binary-linux-x64/bin/goose',
  args: (prompt) => ['run', '--no-session', '--text', prompt],
  variables: (url) => ({
    GOOSE_PROVIDER: 'openai',
    GOOSE_MODEL: 'm',
    GOOSE_MODE: 'auto',
    GOOSE_DISABLE_KEYRING: '1',
    OPENAI_HOST: url,
    OPENAI_API_KEY: 'none',
  }),
  settings: () => ({ 'home/.config/goose/config.yaml': CONFIG }),
};
