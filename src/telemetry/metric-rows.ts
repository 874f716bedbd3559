// How a row of the table of metrics becomes a metric: its labels are typed and bounded.
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** Values that another table of the program bounds: route patterns, door names. Never what a caller sends. */
export const declaredElsewhere = 'declared elsewhere';

/** What each label may be. A label without a bound would grow the registry with every stranger's request. */
type Labels = Readonly<Record<string, readonly string[] | typeof declaredElsewhere>>;

type ValuesOf<L extends Labels> = {
  readonly [Name in keyof L]: L[Name] extends readonly (infer Value extends string)[] ? Value : string;
};

/** Makers of one row each, which typecheck the labels of every use. */
export function rowsOf(registry: Registry) {
  const registers = [registry];
  return {
    counter<const L extends Labels>(name: string, help: string, labels: L) {
      const metric = new Counter({ name, help, labelNames: Object.keys(labels), registers });
      for (const values of everyCombination(labels)) metric.inc(values, 0);
      return { add: (values: ValuesOf<L>, by = 1): void => metric.inc({ ...values }, by) };
    },
    gauge<const L extends Labels>(name: string, help: string, labels: L) {
      const metric = new Gauge({ name, help, labelNames: Object.keys(labels), registers });
      return {
        set: (values: ValuesOf<L>, value: number): void => metric.set({ ...values }, value),
        /** Forgets all label sets. */
        clear: (): void => metric.reset(),
      };
    },
    /** A gauge that is looked up when somebody reads the metrics, and not before. */
    reading<const L extends Labels>(name: string, help: string, labels: L) {
      let read: () => Iterable<readonly [ValuesOf<L>, number]> = () => [];
      new Gauge({
        name,
        help,
        labelNames: Object.keys(labels),
        registers,
        collect() {
          for (const [values, value] of read()) this.set({ ...values }, value);
        },
      });
      return {
        from: (source: typeof read): void => {
          read = source;
        },
      };
    },
    histogram<const L extends Labels>(name: string, help: string, labels: L, buckets: number[]) {
      const metric = new Histogram({ name, help, labelNames: Object.keys(labels), registers, buckets });
      return { observe: (values: ValuesOf<L>, value: number): void => metric.observe({ ...values }, value) };
    },
  };
}

/** Label sets that are known in advance, so that a rate over a counter sees the step from 0 to 1. */
function everyCombination(labels: Labels): Record<string, string>[] {
  return Object.entries(labels).reduce<Record<string, string>[]>(
    (sets, [name, values]) =>
      values === declaredElsewhere ? [] : sets.flatMap((set) => values.map((value) => ({ ...set, [name]: value }))),
    [{}],
  );
}
