// What the last stage of the Dockerfile says about how the image runs.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectFolder } from './tree.ts';

export type ImageConfig = {
  readonly env: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly user: string;
  readonly ports: readonly number[];
  readonly volume: string;
  readonly folder: string;
  readonly entrypoint: readonly string[];
  readonly command: readonly string[];
  /** What HEALTHCHECK runs. */
  readonly health: readonly string[];
};

export const dockerfile = (): string => readFileSync(join(projectFolder, 'Dockerfile'), 'utf8');

/** Of the forms of instructions that our Dockerfile uses. */
export function imageConfig(text = dockerfile()): ImageConfig {
  const lines = text
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n/g, ' ')
    .split('\n');
  const last = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')));
  const all = (word: string): string => last.flatMap((line) => ofInstruction(line, word)).join(' ');
  return {
    env: pairs(all('ENV')),
    labels: pairs(all('LABEL')),
    user: all('USER'),
    ports: all('EXPOSE').split(' ').map(Number),
    volume: all('VOLUME'),
    folder: all('WORKDIR'),
    entrypoint: JSON.parse(all('ENTRYPOINT')),
    command: JSON.parse(all('CMD')),
    health: JSON.parse(all('HEALTHCHECK').replace(/^.*? CMD /, '')),
  };
}

const ofInstruction = (line: string, word: string): readonly string[] =>
  line.startsWith(`${word} `) ? [line.slice(word.length).trim()] : [];

const pairs = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...text.matchAll(/([\w.]+)=("[^"]*"|\S+)/g)].map(([, key, value = '']) => [key, value.replaceAll('"', '')]),
  );
