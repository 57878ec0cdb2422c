import type { WantedSubjects } from "../../../core/access/kube/kube-ask.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { kubeSubjectText } from "../../../core/resources/kube-rule.ts";

/** Maximum groups that a client may name. */
const maxGroups = 256;

/**
 * The identity that a client asks for with its own `Impersonate-` headers; `decideKube` decides whether the client may have it. `raw`: names and values in turn,
 * as in Node's `rawHeaders`. An empty user, which clients send with `--as-group`, counts as none. Throws `denied` for a second user, for any other header with
 * this prefix (uid, extra, one with underscores), and for a value that cannot name a user or group. Pure.
 */
export function readImpersonation(raw: readonly string[]): WantedSubjects {
  const users: string[] = [];
  const groups: string[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const [name, value] = [(raw[at] ?? "").toLowerCase(), raw[at + 1] ?? ""];
    if (!name.replaceAll("_", "-").startsWith("impersonate")) continue;
    if (name === "impersonate-user") users.push(value);
    else if (name === "impersonate-group") groups.push(checked(value));
    else throw denied(`the header ${JSON.stringify(name.slice(0, 64))} is not supported`);
  }
  if (users.length > 1) throw denied("the header Impersonate-User is there twice");
  if (groups.length > maxGroups) throw denied(`there are more than ${maxGroups} headers Impersonate-Group`);
  const [user = ""] = users;
  return { ...(user !== "" && { user: checked(user) }), groups: [...new Set(groups)] };
}

function checked(value: string): string {
  if (kubeSubjectText.safeParse(value).success) return value;
  throw denied("the value of a header Impersonate-User or -Group has characters that no user or group has");
}

function denied(why: string): PlatformError {
  return new PlatformError("denied", `access denied: ${why}`);
}
