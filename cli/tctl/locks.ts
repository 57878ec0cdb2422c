import { randomUUID } from "node:crypto";
import type { AuthClient } from "../../core/api/auth-client.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { writeResource } from "../../core/resources/document.ts";
import { parseDuration } from "../../core/resources/duration.ts";
import { type Lock, type LockTarget, lockSchema, lockTargetText } from "../../core/resources/lock.ts";
import { readResource } from "../auth-lists.ts";
import type { Call } from "../command.ts";
import type { Result } from "../output.ts";
import { renderTable } from "../table.ts";
import { withAdmin } from "./connect.ts";
import { listDocuments } from "./documents.ts";

/** `tctl lock`: creates a lock with a unique name. */
export async function addLock(call: Call): Promise<Result> {
  const { options } = call;
  const lock = newLock({ text: (name) => options.text(name), now: new Date(), name: randomUUID() });
  return await withAdmin(call, async ({ client }) => {
    const { json } = await client.putResource({ json: writeResource(lock) });
    const { name } = lock.metadata;
    return {
      data: readResource<Lock>(json),
      text: `Created a lock with name ${JSON.stringify(name)}: ${lockTargetText(lock.spec.target)} is shut out.`,
      notes: await missingTarget(client, lock.spec.target),
    };
  });
}

/** A note when nothing has the target's name now: a mistyped lock shuts nobody out. A login stands for what hosts have, and is not known here. */
async function missingTarget(client: AuthClient, { user, role, server_id: host }: LockTarget): Promise<readonly string[]> {
  const [kind, name, list] =
    user !== undefined ? ["user", user, "tctl users ls"] : role !== undefined ? ["role", role, "tctl get roles"] : ["node", host, "tctl nodes ls"];
  if (name === undefined) return [];
  const isMissing = await client.getResource({ kind, name }).then(
    () => false,
    (thrown: unknown) => thrown instanceof PlatformError && thrown.code === "not_found",
  );
  const noun = kind === "node" ? "host" : kind;
  return isMissing ? [`WARNING: there is no ${noun} ${name} now; if the name is mistyped, the lock shuts nobody out: see ${list}`] : [];
}

export interface LockAsk {
  /** The value of an option. */
  readonly text: (option: string) => string | undefined;
  readonly now: Date;
  readonly name: string;
}

/** The lock that the options describe. Throws `invalid`. Pure. */
export function newLock({ text, now, name }: LockAsk): Lock {
  const target = { user: text("user"), role: text("role"), login: text("login"), server_id: text("serverId") };
  const given = Object.fromEntries(Object.entries(target).filter(([, value]) => value !== undefined));
  const message = text("message");
  const expires = expiry(text("ttl"), text("expires"), now);
  const spec = { target: given, ...(message !== undefined && { message }), ...(expires !== undefined && { expires }) };
  const checked = lockSchema.safeParse({ kind: "lock", version: "v2", metadata: { name }, spec });
  if (checked.success) return checked.data;
  const issue = checked.error.issues[0];
  const option = issue?.path.at(-1);
  throw new PlatformError("invalid", `${option === "target" ? "a lock" : `--${String(option).replace("_", "-")}`} ${issue?.message}`, {
    hint: "give one of --user, --role, --login and --server-id",
  });
}

function expiry(ttl: string | undefined, expires: string | undefined, now: Date): string | undefined {
  if (ttl === undefined) return expires;
  if (expires !== undefined) throw new PlatformError("invalid", "use either --ttl or --expires");
  return new Date(now.getTime() + parseDuration(ttl) * 1000).toISOString();
}

/** `tctl locks ls`. */
export async function listLocks(call: Call): Promise<Result> {
  return await withAdmin(call, async ({ client }) => {
    const locks = await listDocuments<Lock>(client, "lock");
    return { data: locks, text: locksTable(locks) };
  });
}

export function locksTable(locks: readonly Lock[]): string {
  const rows = locks.map(({ metadata, spec }) => [
    metadata.name,
    lockTargetText(spec.target),
    spec.message ?? "",
    spec.expires ?? "never",
    spec.created_by ?? "",
  ]);
  return renderTable(["Lock", "Shuts Out", "Message", "Expires", "By"], rows);
}
