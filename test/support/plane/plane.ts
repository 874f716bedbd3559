// A Kubernetes control plane on loopback: etcd, kube-apiserver and kube-controller-manager, ready in a few seconds.
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Agent, fetch } from 'undici';
import { apiServerArgs, auditPolicy, controllerManagerArgs, etcdArgs, type Ports } from './commands.ts';
import { applyCrds } from './crds.ts';
import { freePorts } from './free-ports.ts';
import { adminKubeconfig, openKubeconfig, writeKubeconfig } from './kubeconfig.ts';
import { issueUser, writePki } from './pki.ts';
import { guard, Program } from './program.ts';

/** Paths of the programs. */
export type PlaneBinaries = {
  readonly etcd: string;
  readonly apiServer: string;
  readonly kubectl: string;
  /** Not in every collection of programs: without it nothing is garbage-collected and no namespace ends. */
  readonly controllerManager?: string;
};

/** Where a plane is: enough to use it from another process. */
export type PlaneAddress = {
  readonly server: string;
  /** Holds `ca.crt`, `admin.kubeconfig`, `audit.log` and the logs of the programs. */
  readonly folder: string;
  readonly kubectl: string;
  readonly hasControllers: boolean;
};

export type PlaneOptions = {
  /** YAML; they are there before the controllers start, which notice later ones only after half a minute. */
  readonly crds?: readonly string[];
  /** Added to the command line: `--min-request-timeout=10` ends watches early, `--goaway-chance=0.02` connections. */
  readonly apiServerArgs?: readonly string[];
};

const READY_DEADLINE_MS = 60_000;
const REQUEST_DEADLINE_MS = 5_000;

export class Plane implements AsyncDisposable {
  readonly address: PlaneAddress;
  readonly etcd: Program;
  readonly apiServer: Program;
  readonly controllerManager: Program | undefined;
  readonly #ports: Ports;
  readonly #resources = new AsyncDisposableStack();
  /** With the certificate of an administrator. */
  readonly #agent: Agent;

  private constructor(
    address: PlaneAddress,
    ports: Ports,
    parts: { readonly binaries: PlaneBinaries; readonly agent: Agent; readonly apiServerArgs: readonly string[] },
  ) {
    const { folder } = address;
    const { binaries, agent } = parts;
    this.address = address;
    this.#ports = ports;
    this.#resources.use(guard(folder));
    this.etcd = this.#resources.use(new Program(binaries.etcd, etcdArgs(folder, ports), folder));
    this.apiServer = this.#resources.use(
      new Program(binaries.apiServer, [...apiServerArgs(folder, ports), ...parts.apiServerArgs], folder),
    );
    this.controllerManager =
      binaries.controllerManager === undefined
        ? undefined
        : this.#resources.use(new Program(binaries.controllerManager, controllerManagerArgs(folder, ports), folder));
    this.#agent = agent;
    this.#resources.defer(() => agent.destroy());
  }

  static async start(binaries: PlaneBinaries, options: PlaneOptions = {}): Promise<Plane> {
    const folder = await mkdtemp(join(tmpdir(), 'acmery-plane-'));
    const ports = await freePorts(['etcd', 'etcdPeer', 'apiServer', 'controllerManager']);
    const server = `https://127.0.0.1:${ports.apiServer}`;
    await writePki(folder);
    const admin = await issueUser(folder, 'admin', ['system:masters']);
    const controller = await issueUser(folder, 'system:kube-controller-manager', []);
    await Promise.all([
      writeKubeconfig(folder, { server, as: admin }, 'admin'),
      writeKubeconfig(folder, { server, as: controller }, 'controller-manager'),
      writeFile(join(folder, 'audit-policy.json'), JSON.stringify(auditPolicy)),
    ]);
    const agent = new Agent({
      // No connection is kept: one to a server that is gone would fail the first question to the next.
      pipelining: 0,
      allowH2: false,
      connect: { rejectUnauthorized: false, cert: admin.certificate, key: admin.key },
    });
    const address = {
      server,
      folder,
      kubectl: binaries.kubectl,
      hasControllers: binaries.controllerManager !== undefined,
    };
    const plane = new Plane(address, ports, { binaries, agent, apiServerArgs: options.apiServerArgs ?? [] });
    try {
      await plane.#start(options.crds ?? []);
      return plane;
    } catch (error) {
      await plane[Symbol.asyncDispose]();
      throw error;
    }
  }

  async startApiServer(): Promise<void> {
    await this.apiServer.start();
    await this.#untilHealthy(this.apiServer, `${this.address.server}/readyz`);
  }

  async restartApiServer(): Promise<void> {
    await this.apiServer.stop();
    await this.startApiServer();
  }

  /** It knows the kinds that there are when it starts. */
  async restartControllerManager(): Promise<void> {
    await this.controllerManager?.stop();
    await this.#startControllerManager();
  }

  /** Removes every past revision from etcd. The API server still knows what it has in memory. */
  async compactEtcd(): Promise<void> {
    const { header } = await this.#askEtcd<{ header: { revision: string } }>('maintenance/status', {});
    await this.#askEtcd('kv/compaction', { revision: header.revision, physical: true });
  }

  /** A watch from any earlier resourceVersion is then answered with 410 Gone. */
  async forgetHistory(): Promise<void> {
    await this.apiServer.stop();
    await this.compactEtcd();
    await this.startApiServer();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources[Symbol.asyncDispose]();
  }

  async #start(crds: readonly string[]): Promise<void> {
    await this.etcd.start();
    await this.startApiServer();
    if (crds.length > 0) {
      await using admin = await openKubeconfig(adminKubeconfig(this.address.folder));
      for (const yaml of crds) await applyCrds(admin, yaml);
    }
    await this.#startControllerManager();
  }

  async #startControllerManager(): Promise<void> {
    if (this.controllerManager === undefined) return;
    await this.controllerManager.start();
    await this.#untilHealthy(this.controllerManager, `https://127.0.0.1:${this.#ports.controllerManager}/healthz`);
  }

  async #untilHealthy(program: Program, url: string): Promise<void> {
    const begun = performance.now();
    for (;;) {
      await program.mustRun();
      const problem = await this.#problemAt(url);
      if (problem === undefined) return;
      if (performance.now() - begun > READY_DEADLINE_MS)
        throw new Error(`${program.name} is not ready (${problem}):\n${await program.tail()}`);
      await pause(50);
    }
  }

  async #problemAt(url: string): Promise<string | undefined> {
    try {
      const signal = AbortSignal.timeout(REQUEST_DEADLINE_MS);
      const reply = await fetch(url, { dispatcher: this.#agent, signal });
      const text = await reply.text();
      return reply.ok ? undefined : text;
    } catch (error) {
      return String(error);
    }
  }

  async #askEtcd<Reply>(path: string, body: object): Promise<Reply> {
    const url = `http://127.0.0.1:${this.#ports.etcd}/v3/${path}`;
    const signal = AbortSignal.timeout(REQUEST_DEADLINE_MS);
    const reply = await fetch(url, { method: 'POST', body: JSON.stringify(body), signal });
    if (!reply.ok) throw new Error(`POST ${url}: ${reply.status} ${await reply.text()}`);
    return (await reply.json()) as Reply;
  }
}
