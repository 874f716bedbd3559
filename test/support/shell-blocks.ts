// The blocks of shell commands in a Markdown text, with the comment above each that says who runs it.

const marks = ['walkthrough', 'recipe', 'run by', 'not run'] as const;

type Mark = { readonly kind: (typeof marks)[number]; readonly text: string };

export type ShellBlock = { readonly line: number; readonly mark: Mark | undefined };

const FENCE = /^\s*(`{3,}|~{3,})\s*(\w*)/;
const SHELL = new Set(['sh', 'bash', 'shell', 'console', 'zsh']);

export function shellBlocks(text: string): readonly ShellBlock[] {
  const blocks: ShellBlock[] = [];
  let open: string | undefined;
  const lines = text.split('\n');
  for (const [index, line] of lines.entries()) {
    const [, fence = '', language = ''] = FENCE.exec(line) ?? [];
    if (fence === '') continue;
    if (open !== undefined) {
      if (fence.startsWith(open)) open = undefined;
      continue;
    }
    open = fence;
    if (SHELL.has(language)) blocks.push({ line: index + 1, mark: markOf(lines[index - 1] ?? '') });
  }
  return blocks;
}

function markOf(line: string): Mark | undefined {
  const [, kind, text = ''] = /^\s*<!-- ([a-z ]+): (.*) -->\s*$/.exec(line) ?? [];
  const known = marks.find((mark) => mark === kind);
  return known && { kind: known, text };
}
