// The log of a command, as the settings want it.
import type { Settings } from '../config/settings.ts';
import { createLog, type Log } from '../telemetry/log.ts';

/** Short lines where a person looks on, JSON where a program collects them. */
export const logFormatOf = ({ logFormat }: Settings): 'json' | 'text' =>
  logFormat ?? (process.stderr.isTTY ? 'text' : 'json');

export const logOf = (settings: Settings): Log =>
  createLog({ level: settings.logLevel, format: logFormatOf(settings) });

/** For commands that answer on standard output: only what a person must know disturbs their screen. */
export const quietLogOf = (settings: Settings): Log => createLog({ level: 'warn', format: logFormatOf(settings) });
