import { isIPv4 } from "node:net";
import { isDeepStrictEqual } from "node:util";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { appDocument } from "../../../core/resources/app.ts";
import { appFacts } from "../../../core/resources/app-details.ts";
import { parseAppUri } from "../../../core/resources/app-uri.ts";
import type { Offered } from "../../../core/resources/offered.ts";
import type { Storage } from "../../storage/storage.ts";
import { documentKey, fromEntry } from "../document.ts";

/**
 * Checks the audience that a host states for a token: it is the address that the host has announced with the application, and if the cluster has `app`
 * resources with this address, the application is one of them, by name and labels. Addresses of the host itself are exempt from the second rule: they name
 * another application on each host. Throws `denied`.
 */
export async function requireAudience(storage: Pick<Storage, "list">, offered: Offered, uri: string): Promise<void> {
  const { name, labels } = offered;
  const what = `access denied: this host asks for a token of application ${JSON.stringify(name)} for`;
  if (appFacts(offered).uri !== uri) {
    throw new PlatformError("denied", `${what} another address than it has announced`, {
      hint: "if the address was changed a moment ago, try again",
    });
  }
  if (isOfHost(uri)) return;
  // Both are JSON of the same make: a document without this text has another address.
  const entries = (await storage.list(documentKey("app", ""))).filter(({ value }) => value.includes(JSON.stringify(uri)));
  const owners = entries.map((entry) => fromEntry(appDocument.schema, entry)).filter(({ spec }) => spec.uri === uri);
  if (owners.length === 0 || owners.some(({ metadata }) => metadata.name === name && isDeepStrictEqual(metadata.labels ?? {}, labels))) return;
  const names = owners.map(({ metadata }) => JSON.stringify(metadata.name));
  throw new PlatformError("denied", `${what} the address of application ${names.slice(0, 3).join(", ")}, which is a resource of the cluster`);
}

/** Whether an address means the host that connects to it. */
function isOfHost(uri: string): boolean {
  const address = parseAppUri(uri);
  if (address === undefined) return false;
  if (address.scheme === "unix") return true;
  const { host } = address;
  return host === "localhost" || host === "::1" || (isIPv4(host) && host.startsWith("127."));
}
