// Cline asks nothing without a terminal. It has its model by a command of its own.

export default {
  name: 'cline',
  packages: ['cline@3.0.65'],
  program: 'cline/bin/cline',
  prepare: (url) => ['auth', '--provider', 'openai', '--apikey', 'none', '--modelid', 'm', '--baseurl', `${url}/v1`],
  args: (prompt) => [prompt],
};
