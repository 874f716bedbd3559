// The page on which a token is given.
import { type Html, html } from '../../html/html.ts';

export type SignInAsked = {
  /** A path of /ui, where it goes on. */
  readonly way: string;
  readonly complaint?: string | undefined;
};

export const signInPage = ({ way, complaint }: SignInAsked): Html => html`<div class="sign-in">
${complaint === undefined ? undefined : html`<p class="notice bad" role="alert" id="complaint">${complaint}</p>`}
<form action="/ui/sign-in" method="post" autocomplete="off">
<p><label for="token">Token</label>
<input type="password" id="token" name="token" required maxlength="4000" autocomplete="off" spellcheck="false" autocapitalize="none" autofocus${
  complaint === undefined ? undefined : html` aria-invalid="true" aria-describedby="complaint"`
}></p>
<input type="hidden" name="next" value="${way}">
<p><button type="submit">Sign in</button></p>
</form>
<h2>Which token</h2>
<p>The same that <code>/v1</code> takes; <code>read</code> is enough, and <code>admin</code> shows the CA certs too.</p>
<pre tabindex="0">acmery token create --name me --permission read --expires 30d</pre>
<p>In a cluster, where a ServiceAccount is bound to a ClusterRole of Acmery:</p>
<pre tabindex="0">kubectl create token NAME --audience acmery.io --duration 8h</pre>
<h2>What becomes of it</h2>
<p>It is kept in this browser alone, sealed in a cookie that no script can read and no other site can send, for 8 hours or
until you sign out. These pages read and change nothing.</p>
</div>`;
