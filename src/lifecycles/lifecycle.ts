// A lifecycle is a table: state -> the states that may follow. Everything that knows states is derived from it.

/** The first state in the table is the one in which a row usually begins. */
export type Lifecycle<State extends string> = { readonly [From in State]: readonly State[] };

export type StateOf<L> = keyof L & string;

/** Refuses, at compile time, a table that names a state without a row of its own. */
export const defineLifecycle = <const L extends { readonly [From in keyof L]: readonly (keyof L & string)[] }>(
  table: L,
): Lifecycle<keyof L & string> => table;

export const statesOf = <State extends string>(lifecycle: Lifecycle<State>): readonly State[] =>
  Object.keys(lifecycle) as State[];

/** The states from which `to` may be reached in one move; none for a state in which rows only begin. */
export const sourcesOf = <State extends string>(lifecycle: Lifecycle<State>, to: NoInfer<State>): readonly State[] =>
  statesOf(lifecycle).filter((from) => lifecycle[from].includes(to));

export const isFinal = <State extends string>(lifecycle: Lifecycle<State>, state: NoInfer<State>): boolean =>
  lifecycle[state].length === 0;

/** The lifecycle as a Mermaid state diagram. */
export function toMermaid<State extends string>(lifecycle: Lifecycle<State>): string {
  const states = statesOf(lifecycle);
  const moves = states.flatMap((from) => lifecycle[from].map((to) => `${from} --> ${to}`));
  const ends = states.filter((state) => isFinal(lifecycle, state)).map((state) => `${state} --> [*]`);
  const lines = [`[*] --> ${states[0]}`, ...moves, ...ends];
  return `stateDiagram-v2\n${lines.map((line) => `    ${line}\n`).join('')}`;
}
