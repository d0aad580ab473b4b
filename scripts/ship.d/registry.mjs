// Owns an npm registry on the loopback interface: it takes what `npm publish` sends, gives that to `npm install`, and
// knows nothing else. What is not published there does not exist, so that a test can't install something of the world.

import { createHash } from 'node:crypto';
import http from 'node:http';

/** Starts it, and returns `{url, environment, published, asked, close}`; `environment` makes npm use it. */
export async function startRegistry() {
  const packages = new Map();
  const asked = [];
  const server = http.createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const path = decodeURIComponent(request.url.split('?')[0]);
      asked.push(`${request.method} ${path}`);
      answer(packages, request, path, Buffer.concat(chunks), response, url);
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  // It keeps no process alive where a claim fails.
  server.unref();
  const { port } = server.address();
  const url = `http://127.0.0.1:${port}/`;
  return {
    url,
    asked,
    published: packages,
    /** The line of ~/.npmrc that `npm publish` needs. */
    login: `//127.0.0.1:${port}/:_authToken=loopback\n`,
    environment: {
      npm_config_registry: url,
      npm_config_audit: 'false',
      npm_config_fund: 'false',
      npm_config_update_notifier: 'false',
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function answer(packages, request, path, body, response, url) {
  const json = (status, value) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(value));
  };
  const file = /^\/(.+)\/-\/([^/]+\.tgz)$/.exec(path);
  if (request.method === 'GET' && file) {
    const data = packages.get(file[1])?.files.get(file[2]);
    if (!data) return json(404, { error: 'no such file' });
    response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': data.length });
    return response.end(data);
  }
  const name = path.slice(1);
  if (request.method === 'PUT') return json(201, publish(packages, name, JSON.parse(body), url));
  const known = packages.get(name);
  if (request.method === 'GET' && known) return json(200, known.document);
  return json(404, { error: `${name} is not published here` });
}

/** As the registry of npm does: versions are added, and the tag "latest" moves on. */
function publish(packages, name, sent, url) {
  const known = packages.get(name) ?? { document: { name, 'dist-tags': {}, versions: {} }, files: new Map() };
  for (const attachment of Object.values(sent._attachments)) {
    const [version] = Object.keys(sent.versions);
    const data = Buffer.from(attachment.data, 'base64');
    const title = `${name.split('/').pop()}-${version}.tgz`;
    known.files.set(title, data);
    known.document.versions[version] = {
      ...sent.versions[version],
      dist: {
        tarball: `${url}${name}/-/${title}`,
        shasum: createHash('sha1').update(data).digest('hex'),
        integrity: `sha512-${createHash('sha512').update(data).digest('base64')}`,
      },
    };
    Object.assign(known.document['dist-tags'], sent['dist-tags']);
  }
  packages.set(name, known);
  return { ok: true };
}
