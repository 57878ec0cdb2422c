import type { Database } from "../database.ts";

/** Maximum bytes of JSON that the labels take in each event of a session, and the roles. */
const maxBytes = 2_048;
const maxRoles = 64;

/**
 * What every event of a session has about its database and the roles of the user's account, beside the names: labels and roles as far as they fit, the first ones
 * in the order of their names. Pure.
 */
export function describedDatabase({ labels, origin }: Pick<Database, "labels" | "origin">, roles: readonly string[]) {
  const shown = fitting(Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1)));
  return {
    db_type: "self-hosted",
    db_origin: origin,
    ...(shown.length > 0 && { db_labels: Object.fromEntries(shown) }),
    ...(roles.length > 0 && { db_roles: fitting(roles.slice(0, maxRoles).map((role) => role.slice(0, 256))) }),
  };
}

function fitting<One>(all: readonly One[]): One[] {
  let bytes = 0;
  return all.filter((one) => {
    bytes += Buffer.byteLength(JSON.stringify(one)) + 1;
    return bytes <= maxBytes;
  });
}
