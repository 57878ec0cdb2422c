import type { IncomingMessage } from "node:http";
import type { AuditFacts } from "../../core/audit/audit-events.ts";

type Asked = Pick<IncomingMessage, "headers"> & { readonly method?: string | undefined; readonly url?: string | undefined };

/** The audit event of a refused request that a page of another site made. `client`: `ip:port` or IP address; `app`: of its host name. Pure. */
export function foreignPage(
  { headers, method = "GET", url = "/" }: Asked,
  { client, app }: { readonly client: string; readonly app?: string },
): AuditFacts {
  const from = headers.origin === undefined ? "another site" : JSON.stringify(headers.origin.slice(0, 256));
  const what = `${method} ${(url.split("?", 1)[0] ?? "").slice(0, 256)}`;
  const error = `access denied: a page of ${from} may not send ${what}`;
  return { event: "auth", error, "addr.remote": client, ...(app !== undefined && { app_name: app }) };
}
