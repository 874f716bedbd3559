// All clients, in the order in which they run.
import type { Client } from './client.ts';
import { acmeClient } from './clients/acme-client.ts';
import { acmeTiny } from './clients/acme-tiny.ts';
import { acme4j } from './clients/acme4j.ts';
import { caddy } from './clients/caddy.ts';
import { certbot } from './clients/certbot.ts';
import { dehydrated } from './clients/dehydrated.ts';
import { lego } from './clients/lego.ts';
import { modMd } from './clients/mod-md.ts';
import { uacme } from './clients/uacme.ts';

export const clients: readonly Client[] = [
  acmeClient,
  certbot,
  acmeTiny,
  lego,
  dehydrated,
  uacme,
  caddy,
  modMd,
  acme4j,
];
