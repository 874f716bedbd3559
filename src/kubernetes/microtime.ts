// Times as the API server's MicroTime wants them.

export const microtime = (time: Date): string => time.toISOString().replace('Z', '000Z');
