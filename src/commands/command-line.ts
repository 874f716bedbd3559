// The commands of the program and their options. Each command's code is loaded only when it runs.
import { Command, Option } from 'commander';
import { loadSettings, processEnvironment } from '../config/load.ts';
import { flagOf, type Settings, settingNames, settings } from '../config/settings.ts';
import { version } from '../version.ts';

type Flags = Readonly<Record<string, string | undefined>>;
const OUTPUT = ['text', 'json'] as const;
const SERVES = `Serve ACME, the management interface /v1, CRLs, OCSP and CA certificates, and reconcile custom resources, until SIGINT or SIGTERM.

Custom resources come from the folder that --manifests names; else from the cluster that KUBECONFIG names, or around the pod; else there are none, and everything is made through /v1.`;

/** Runs the command that the arguments name and returns its exit code; throws CommanderError on wrong usage. */
export async function commandLine(args: readonly string[]): Promise<number> {
  let exitCode = 0;
  const runs =
    (run: (settings: Settings, flags: Flags, ...operands: string[]) => Promise<number>) =>
    async (...received: unknown[]): Promise<void> => {
      const command = received.at(-1) as Command;
      const flags = byFlag(command.optsWithGlobals());
      const operands = command.processedArgs as string[];
      exitCode = await run(loadSettings({ flags, env: processEnvironment() }), flags, ...operands);
    };

  const program = new Command('acmery')
    .description('A private certificate authority for Kubernetes, with a complete ACME server.')
    .version(version, '--version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .addHelpText('after', '\nExit codes: 0 done, 1 failed, 2 wrong usage or settings.')
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'acmery: ')) });

  program
    .command('serve')
    .summary('Run everything until SIGINT or SIGTERM: ACME, /v1, CRLs and OCSP, and the operator.')
    .description(SERVES)
    .action(runs(async (settings) => (await import('./serve.ts')).serve(settings)));

  program
    .command('migrate')
    .description('Bring the database schema up to date and exit (serve does it too).')
    .action(runs(async (settings) => (await import('./migrate.ts')).migrateCommand(settings)));

  const token = program.command('token').description('API tokens: the credentials of /v1 callers.').helpCommand(false);
  token
    .command('create')
    .description('Make an API token and print it, once.')
    .requiredOption('--name <name>', 'what it is for, 1-200 characters')
    .addOption(
      new Option('--permission <level>', 'what it may do').choices(['read', 'write', 'admin']).makeOptionMandatory(),
    )
    .option('--expires <duration>', 'how long it lives, such as 90d (default: for ever)')
    .addOption(outputOption())
    .action(runs(async (settings, flags) => (await import('./token.ts')).createTokenCommand(settings, flags)));
  token
    .command('list')
    .description('List the API tokens, revoked and expired ones too.')
    .addOption(outputOption())
    .action(runs(async (settings, flags) => (await import('./token.ts')).listTokensCommand(settings, flags)));
  token
    .command('revoke')
    .argument('<id>', 'as `token list` shows it')
    .description('Revoke an API token at once.')
    .action(runs(async (settings, _flags, id = '') => (await import('./token.ts')).revokeTokenCommand(settings, id)));

  const manifests = program
    .command('manifests')
    .description('Custom resources: their definitions, and a check of manifests without a cluster.')
    .helpCommand(false);
  manifests
    .command('crds')
    .description('Print the CustomResourceDefinitions.')
    .action(async () => {
      exitCode = (await import('./manifests.ts')).printCrdsCommand();
    });
  manifests
    .command('check')
    .argument('<files...>', 'YAML files, folders of them, or - for the standard input')
    .description('Check manifests as an API server would, and name every problem. Other kinds are skipped.')
    .action(async (files: readonly string[]) => {
      exitCode = (await import('./manifests.ts')).checkManifestsCommand(files);
    });

  program
    .command('doctor')
    .description('Check database, cluster access, clock, keys, listeners and serving certificate.')
    .addOption(outputOption())
    .action(runs(async (settings, flags) => (await import('./doctor.ts')).doctorCommand(settings, flags)));

  // After the options of their own, so that help lists these first.
  for (const command of [...program.commands, ...token.commands])
    if (command !== token && command !== manifests) addSettings(command);
  await program.parseAsync(args, { from: 'user' });
  return exitCode;
}

/** Commander's camelCase names back as the flags that people wrote. */
const byFlag = (options: Flags): Flags =>
  Object.fromEntries(Object.entries(options).map(([name, value]) => [kebabCase(name), value]));

const kebabCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

function addSettings(command: Command): void {
  command.addOption(new Option('--config <file>', 'YAML file of settings').helpGroup('Settings:'));
  for (const name of settingNames) {
    const { about, env, fallbackText } = settings[name];
    const description = `${about} [${env}; default: ${fallbackText}]`.replaceAll('`', '');
    command.addOption(
      new Option(`--${flagOf(name)} <${settings[name].isSecret ? 'file' : 'value'}>`, description).helpGroup(
        'Settings:',
      ),
    );
  }
}

const outputOption = (): Option => new Option('--output <form>', 'how to print').choices(OUTPUT).default('text');
