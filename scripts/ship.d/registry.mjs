// Owns an npm registry on the loopback interface: Verdaccio, which has no other registry behind it here. What is not
// published there does not exist, so that a test can't install something of the world.

import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

/** Starts it, with its files in `directory`, and returns `{url, login, environment, asked}`; `environment` makes npm use it. */
export async function startRegistry(directory) {
  fs.mkdirSync(directory, { recursive: true });
  const file = path.join(directory, 'config.json');
  const configuration = {
    self_path: file,
    storage: path.join(directory, 'storage'),
    auth: { htpasswd: { file: path.join(directory, 'htpasswd'), max_users: 1, algorithm: 'bcrypt', rounds: 4 } },
    uplinks: {},
    packages: { '**': { access: '$all', publish: '$authenticated' } },
    web: { enable: false },
    log: { type: 'file', path: path.join(directory, 'log'), format: 'json', level: 'http' },
    // The packages are larger than what it takes by default.
    max_body_size: '200mb',
  };
  const { runServer } = createRequire(path.join(process.env.GEMINI_TOOLS_VERDACCIO, 'package.json'))('verdaccio');
  const server = await runServer(configuration);
  const asked = [];
  server.prependListener('request', (request) => asked.push(`${request.method} ${decodeURIComponent(request.url.split('?')[0])}`));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  // It keeps no process alive where a claim fails.
  server.unref();
  const host = `127.0.0.1:${server.address().port}`;
  return {
    url: `http://${host}/`,
    asked,
    /** The line of ~/.npmrc that `npm publish` needs. */
    login: `//${host}/:_authToken=${await register(`http://${host}/`)}\n`,
    environment: {
      npm_config_registry: `http://${host}/`,
      npm_config_audit: 'false',
      npm_config_fund: 'false',
      npm_config_update_notifier: 'false',
    },
  };
}

/** Makes the user who publishes, as `npm adduser` does, and returns that user's token. */
async function register(url) {
  const name = 'publisher';
  const response = await fetch(`${url}-/user/org.couchdb.user:${name}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name, password: 'on the loopback interface' }),
  });
  const { token, error } = await response.json();
  if (!token) throw new Error(`the registry has no user: ${response.status} ${error}`);
  return token;
}
