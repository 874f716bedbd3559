// The chart and the image are about the same container.
import { expect, test } from 'vitest';
import { imageConfig } from '../../scripts/package/dockerfile.ts';
import { chartManifests } from '../support/chart.ts';

type Named = { readonly name: string };
type Probe = { readonly httpGet: { readonly path: string; readonly port: string } };
type Container = {
  readonly args: readonly string[];
  readonly env: readonly (Named & { readonly value?: string })[];
  readonly ports: readonly (Named & { readonly containerPort: number })[];
  readonly volumeMounts: readonly { readonly mountPath: string }[];
  readonly securityContext: { readonly readOnlyRootFilesystem: boolean };
} & Readonly<Record<'startupProbe' | 'livenessProbe' | 'readinessProbe', Probe>>;
type Pod = {
  readonly containers: readonly Container[];
  readonly securityContext: { readonly runAsUser: number; readonly runAsGroup: number };
};

test('arguments, ports, user, data folder and probes of the pods are those of the image', async () => {
  const deployment = (await chartManifests()).find(({ kind }) => kind === 'Deployment');
  const { spec } = deployment as unknown as { readonly spec: { readonly template: { readonly spec: Pod } } };
  const { containers, securityContext } = spec.template.spec;
  const [container] = containers;
  if (container === undefined) throw new Error('The Deployment has no container.');
  const image = imageConfig();

  expect(container.args).toEqual(image.command);
  expect(container.ports.map(({ containerPort }) => containerPort)).toEqual(image.ports);
  expect(`${securityContext.runAsUser}:${securityContext.runAsGroup}`).toBe(image.user);
  expect(container.securityContext.readOnlyRootFilesystem).toBe(true);
  expect(container.volumeMounts.map(({ mountPath }) => mountPath)).toEqual(
    expect.arrayContaining([image.volume, '/tmp']),
  );
  for (const { name, value } of container.env)
    if (image.env[name] !== undefined) expect(`${name}=${value}`).toBe(`${name}=${image.env[name]}`);
  const opsPort = Number(image.env.ACMERY_OPS_LISTEN?.split(':').at(-1));
  expect(container.ports.find(({ name }) => name === 'metrics')?.containerPort).toBe(opsPort);
  for (const probe of [container.startupProbe, container.livenessProbe, container.readinessProbe])
    expect(probe.httpGet.port).toBe('metrics');
  expect(image.health.join(' ')).toContain(`:${opsPort}${container.livenessProbe.httpGet.path}'`);
});
