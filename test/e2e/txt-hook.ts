// What the clients' DNS hooks run: `txt-hook.ts URL present|cleanup NAME VALUE` writes a TXT record of the scenarios' DNS, or takes it away.
const [url = '', verb = '', fqdn = '', value = ''] = process.argv.slice(2);
const reply = await fetch(`${url}/${verb}`, { method: 'POST', body: JSON.stringify({ fqdn, value }) });
if (!reply.ok) process.exitCode = 1;
