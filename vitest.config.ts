// Test projects: unit tests touch nothing outside the process; integration tests use a real Postgres and real sockets,
// cluster tests a real Kubernetes API server besides, and those with cert-manager its controller too; those of the chart
// need Helm; those of the package run what is shipped, as the npm package and as the image.
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    coverage: { provider: 'v8', include: ['src/**/*.ts'], reporter: ['text-summary', 'html'] },
    projects: [
      { test: { name: 'unit', include: ['test/*.test.ts', 'test/unit/**/*.test.ts'] } },
      {
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          globalSetup: ['test/support/postgres.ts'],
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'cluster',
          include: ['test/cluster/**/*.test.ts'],
          globalSetup: ['test/support/postgres.ts', 'test/support/plane/setup.ts', 'test/support/plane/helm-setup.ts'],
          setupFiles: ['test/support/plane/skip.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'chart',
          include: ['test/chart/**/*.test.ts'],
          globalSetup: ['test/support/plane/helm-setup.ts', 'test/support/plane/promtool-setup.ts'],
          setupFiles: ['test/support/plane/skip-chart.ts'],
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'package',
          include: ['test/package/**/*.test.ts'],
          globalSetup: ['test/support/postgres.ts', 'test/support/package-setup.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'cert-manager',
          include: ['test/cert-manager/**/*.test.ts'],
          globalSetup: [
            'test/support/postgres.ts',
            'test/support/plane/cert-manager-setup.ts',
            'test/support/plane/helm-setup.ts',
          ],
          setupFiles: ['test/support/plane/skip.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
