import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Role } from "../../../core/resources/role.ts";
import type { Storage } from "../../storage/storage.ts";
import { toPut } from "../documents/document.ts";

/** The roles of a new cluster. */
export const presets: readonly Role[] = [
  preset("access", "Reach every host with the user's own logins", {
    logins: ["{{internal.logins}}"],
    node_labels: { "*": "*" },
  }),
  preset("editor", "Change users, roles, tokens, nodes, locks and the staged roll-out; no shell", {
    rules: [
      { resources: ["role", "user", "token", "node", "lock", "upgrade_rollout"], verbs: ["*"] },
      { resources: ["event"], verbs: ["list", "read"] },
    ],
  }),
  preset("auditor", "Read the audit log and the recordings of sessions", {
    rules: [{ resources: ["event", "session"], verbs: ["list", "read"] }],
  }),
];

const madeKey = "/cluster/presets";

/** Creates the presets once in a cluster's life: an admin's change or removal stays. */
export async function createPresets(storage: Storage): Promise<void> {
  const marks = presets.map((role) => toPut(role, { overwrite: true, mustExist: false }));
  try {
    await storage.batch([{ key: madeKey, value: "{}", expect: "absent" }, ...marks]);
  } catch (thrown) {
    if (!(thrown instanceof PlatformError) || thrown.code !== "already_exists") throw thrown;
  }
}

function preset(name: string, description: string, allow: Role["spec"]["allow"]): Role {
  return {
    kind: "role",
    version: "v7",
    metadata: { name, description },
    spec: { options: { max_session_ttl: "30h" }, allow },
  };
}
