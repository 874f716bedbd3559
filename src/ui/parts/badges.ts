// States as badges: the word says it, the colour and the sign only help.
import type { CaState } from '../../core/ca-tree.ts';
import { type Html, html } from '../../html/html.ts';
import type { AcmeKeyState } from '../../lifecycles/acme-key.ts';
import type { AuthorizationState } from '../../lifecycles/authorization.ts';
import type { ChallengeState } from '../../lifecycles/challenge.ts';
import type { OrderState } from '../../lifecycles/order.ts';
import type { Tone } from './life.ts';

type State =
  | OrderState
  | AuthorizationState
  | ChallengeState
  | AcmeKeyState
  | CaState
  | 'expired'
  | 'renewed'
  | 'renewal due'
  | 'renewal late';

const tones: Readonly<Record<State, Tone>> = {
  valid: 'good',
  ready: 'wait',
  pending: 'wait',
  processing: 'wait',
  waiting: 'wait',
  'renewal due': 'wait',
  'renewal late': 'bad',
  invalid: 'bad',
  revoked: 'bad',
  expired: 'off',
  deactivated: 'off',
  renewed: 'off',
};

const signs: Readonly<Record<Tone, string>> = { good: '\u2713', wait: '\u25cb', bad: '\u2715', off: '\u2013' };

export const badge = (state: State): Html => toned(tones[state], state);

export const toned = (tone: Tone, text: string): Html =>
  html`<span class="badge ${tone}"><span aria-hidden="true">${signs[tone]}</span> ${text}</span>`;
