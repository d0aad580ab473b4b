// Owns the places of one run on disk: a workspace under git with given files, a HOME of its own, settings that name the
// two commands, and what the workspace holds afterwards.

import fs from 'node:fs';
import path from 'node:path';

import { ending, run } from './child.mjs';
import { API_KEY } from './ways_in.mjs';

const GIT_LIMIT_MS = 30_000;

/**
 * `files` maps relative paths to bytes; `allowed` becomes `tools.allowed` where it is given, and `mcpServers` stands in
 * the same settings; `variables` are added to the host's environment; `way` is how the host gets to the API; `trusted` is
 * whether the environment says that the workspace is. Without any of them the host has its own tools alone.
 */
export async function makePlayground(root, { files, getTools, callTool, allowed, mcpServers, variables = {}, trusted = true, way = API_KEY }) {
  // The space is there because people have one.
  const playground = {
    workspace: path.join(root, 'work space'),
    home: path.join(root, 'home'),
    temporary: path.join(root, 'tmp'),
    refusedLog: path.join(root, 'refused.log'),
    root,
    variables,
    trusted,
  };
  for (const directory of [playground.workspace, playground.home, playground.temporary]) fs.mkdirSync(directory, { recursive: true });

  for (const [name, bytes] of Object.entries(files)) writeFile(path.join(playground.workspace, name), bytes);
  const settings = {
    tools: { ...(getTools && { discoveryCommand: shellWord(getTools), callCommand: callTool }), ...(allowed && { allowed }) },
    ...(mcpServers && { mcpServers }),
    telemetry: { enabled: false },
  };
  writeFile(path.join(playground.workspace, '.gemini', 'settings.json'), `${JSON.stringify(settings, null, 2)}\n`);
  writeFile(path.join(playground.home, '.gemini', 'settings.json'), `${JSON.stringify(userSettings(way), null, 2)}\n`);

  const git = await run('git', ['init', '--quiet'], {
    cwd: playground.workspace,
    env: { PATH: process.env.PATH, HOME: playground.home, GIT_CONFIG_NOSYSTEM: '1' },
    limitMs: GIT_LIMIT_MS,
  });
  if (git.status !== 0) throw new Error(`git init ${ending(git)}\n${git.stderr}`);
  return playground;
}

function userSettings({ authType }) {
  return {
    general: { disableAutoUpdate: true, disableUpdateNag: true, enableAutoUpdate: false, enableAutoUpdateNotification: false },
    // The CLI would try to download it (0.8.2).
    tools: { useRipgrep: false },
    privacy: { usageStatisticsEnabled: false },
    security: { auth: { selectedType: authType } },
  };
}

/** What the workspace holds, by relative path, without what git keeps. */
export function filesOf(workspace) {
  const found = {};
  const visit = (directory) => {
    for (const entry of fs.readdirSync(path.join(workspace, directory), { withFileTypes: true })) {
      const name = path.posix.join(directory, entry.name);
      if (name === '.git') continue;
      if (entry.isDirectory()) visit(name);
      else found[name] = entry.isFile() ? fs.readFileSync(path.join(workspace, name)) : Buffer.from(`(not a file: ${name})`);
    }
  };
  visit('');
  return found;
}

/** Hosts that something in the run tried to reach, other than this machine. */
export function refusedHosts(playground) {
  if (!fs.existsSync(playground.refusedLog)) return [];
  return [...new Set(fs.readFileSync(playground.refusedLog, 'utf8').split('\n').filter(Boolean))];
}

export function writeFile(file, bytes, mode) {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, bytes, { mode });
}

/** The host splits the discovery command as a shell would, but takes the call command as one path. */
export function shellWord(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
