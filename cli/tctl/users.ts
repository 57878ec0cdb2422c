import type { z } from "zod";
import { resourceProblems } from "../../core/config/resource-problems.ts";
import { PlatformError, toPlatformError } from "../../core/errors/platform-error.ts";
import { writeResource } from "../../core/resources/document.ts";
import { formatDuration, parseDuration } from "../../core/resources/duration.ts";
import { longestLoginSeconds, type User, userSchema } from "../../core/resources/user.ts";
import type { Call } from "../command.ts";
import { type Result, textResult } from "../output.ts";
import { renderTable } from "../table.ts";
import { type Admin, withAdmin } from "./connect.ts";
import { documentsOf, getDocument } from "./documents.ts";

/** Traits that have options of their own, by option. */
const traitOptions = {
  logins: "logins",
  dbUsers: "db_users",
  dbNames: "db_names",
  dbRoles: "db_roles",
  kubernetesUsers: "kubernetes_users",
  kubernetesGroups: "kubernetes_groups",
} as const;

/** The traits that the options name; `optionOf` makes the command's own option of one. */
function statedTraits({ options }: Call, optionOf: (option: keyof typeof traitOptions) => string): Readonly<Record<string, readonly string[]>> {
  const stated = (Object.keys(traitOptions) as (keyof typeof traitOptions)[]).filter((option) => options.text(optionOf(option)) !== undefined);
  return Object.fromEntries(stated.map((option) => [traitOptions[option], options.list(optionOf(option))]));
}

/** `tctl users add`: adds a user, and prints the link to set its password and one-time code. */
export async function addUser(call: Call): Promise<Result> {
  const { args, options } = call;
  const name = args[0] ?? "";
  const traits = statedTraits(call, (option) => option);
  const user = checked(userSchema, `user ${JSON.stringify(name)}`, {
    kind: "user",
    version: "v2",
    metadata: { name },
    spec: { roles: options.list("roles"), ...(Object.keys(traits).length > 0 && { traits }) },
  });
  const ttlSeconds = ttlOf(call);
  return await withAdmin(call, async (admin) => {
    await admin.client.putResource({ json: writeResource(user) }).catch((thrown: unknown) => {
      if (!(thrown instanceof PlatformError) || thrown.code !== "already_exists") throw thrown;
      const hint = `change it with: tctl users update ${name}; make another link with: tctl users reset ${name}`;
      throw new PlatformError(thrown.code, thrown.message, { cause: thrown, hint });
    });
    return await invite(admin, { name, ttlSeconds, done: `User ${name} was created.` }).catch((thrown: unknown) => {
      const error = toPlatformError(thrown);
      throw new PlatformError(error.code, `user ${name} was created, but could not make the invite link: ${error.message}`, {
        cause: thrown,
        hint: `make a link with: tctl users reset ${name}`,
      });
    });
  });
}

/** `tctl users reset`: password, code and passkeys stop working at once; a new link sets a new password and code. */
export async function resetUser(call: Call): Promise<Result> {
  const name = call.args[0] ?? "";
  const ttlSeconds = ttlOf(call);
  return await withAdmin(call, async (admin) => {
    const result = await invite(admin, { name, ttlSeconds, done: `Password, one-time code and passkeys of ${name} were reset.` });
    return { ...result, notes: [...(result.notes ?? []), stillValid(name, new Date())] };
  });
}

/** Certificates of earlier logins, which stay valid after a reset, and after a removal by an older auth service. */
export function stillValid(name: string, now: Date): string {
  const last = new Date(now.getTime() + longestLoginSeconds * 1000).toISOString().replace(/\.\d+Z$/, "Z");
  return `Certificates of logins before now stay valid until they expire, at the latest at ${last}. To shut ${name} out at once: tctl lock --user=${name}`;
}

/** `tctl users unlock`: ends the wait after failed logins; password and code stay valid. */
export async function unlockUser(call: Call): Promise<Result> {
  const name = call.args[0] ?? "";
  return await withAdmin(call, async ({ client }) => {
    const { wasLocked } = await client.unlockUser({ user: name });
    return {
      data: { user: name, was_locked: wasLocked },
      text: wasLocked ? `User ${name} may log in again.` : `User ${name} was not locked anywhere; failed logins are forgotten.`,
    };
  });
}

export async function updateUser(call: Call): Promise<Result> {
  const { args, options } = call;
  const name = args[0] ?? "";
  const roles = options.text("setRoles");
  const stated = statedTraits(call, (option) => `set${option[0]?.toUpperCase()}${option.slice(1)}`);
  if (roles === undefined && Object.keys(stated).length === 0) {
    throw new PlatformError("invalid", "no change was given", { hint: "give --set-roles=<role,…>, --set-logins=<login,…> or --set-db-…" });
  }
  return await withAdmin(call, async ({ client }) => {
    const { status: _status, ...before } = await getDocument<User>(client, "user", { name });
    const traits = Object.keys(stated).length === 0 ? before.spec.traits : { ...before.spec.traits, ...stated };
    const spec = { roles: roles === undefined ? before.spec.roles : options.list("setRoles"), ...(traits && { traits }) };
    const user = checked(userSchema, `user ${JSON.stringify(name)}`, { ...before, spec });
    await client.putResource({ json: writeResource(user), mustExist: true });
    const text = `User ${name} has been updated: roles ${user.spec.roles.join(", ")}; logins ${user.spec.traits?.logins?.join(", ") || "(none)"}`;
    return { data: user, text, notes: ["The change applies to new certificates: users who are logged in must log in again."] };
  });
}

export async function listUsers(call: Call): Promise<Result> {
  return await withAdmin(call, async ({ client }) => {
    const { resources, passkeys } = await client.listResources({ kind: "user" });
    const users = documentsOf<User>(resources);
    return { data: users, text: usersTable(users, passkeys) };
  });
}

/** `passkeys`: their number, by user, of those who have some; left out: the table does not have them. */
export function usersTable(users: readonly User[], passkeys?: Readonly<Record<string, number>>): string {
  const rows = users.map(({ metadata: { name }, spec, status }) => {
    const state = status?.state === "locked" && status.locked_until !== undefined ? `locked until ${status.locked_until}` : (status?.state ?? "");
    const count = passkeys === undefined ? [] : [String(Object.hasOwn(passkeys, name) ? passkeys[name] : 0)];
    return [name, spec.roles.join(","), (spec.traits?.logins ?? []).join(","), state, ...count];
  });
  return renderTable(["User", "Roles", "Logins", "State", ...(passkeys === undefined ? [] : ["Passkeys"])], rows);
}

export async function removeUser(call: Call): Promise<Result> {
  const name = call.args[0] ?? "";
  return await withAdmin(call, async ({ client }) => {
    const { notes } = await client.deleteResource({ kind: "user", name });
    return textResult(`User ${name} has been deleted.`, afterRemoval(name, notes));
  });
}

/** An older auth service returns nothing, and does not lock the user out. */
export function afterRemoval(name: string, notes: readonly string[]): readonly string[] {
  return notes.length > 0 ? notes : [stillValid(name, new Date())];
}

function ttlOf({ options }: Call): number {
  const ttl = options.text("ttl");
  const seconds = ttl === undefined ? 0 : parseDuration(ttl);
  if (seconds <= 172_800) return seconds;
  throw new PlatformError("invalid", `--ttl: ${ttl} is too long for an invite link`, { hint: "the maximum is 48h" });
}

async function invite(admin: Admin, ask: { name: string; ttlSeconds: number; done: string }): Promise<Result> {
  const { name, ttlSeconds, done } = ask;
  // First: the link is lost if the command fails after it was made.
  const known = admin.proxyAddress ?? (await admin.client.getCluster({})).proxyPublicAddrs[0];
  const { token, expires } = await admin.client.createInvite({ user: name, ttlSeconds });
  const address = known ?? "<proxy>";
  const url = `https://${address.replace(/:443$/, "")}/web/invite/${token}`;
  const left = formatDuration((new Date(expires).getTime() - Date.now()) / 1000 + 1);
  const notes =
    known === undefined
      ? ["No proxy has connected to the auth service yet: replace <proxy> with its address, or give it with --proxy=<host:port>."]
      : [];
  const ifLost = `${done.replace(/\.$/, "")}, but the link was not shown; make another with: tctl users reset ${name}`;
  return { data: { user: name, invite_url: url, token, expires }, text: `${done} This link works once, for ${left}:\n${url}`, notes, ifLost };
}

/** The value as its schema defines it. Throws `invalid` with every problem on its own line. */
function checked<T>(schema: z.ZodType<T>, what: string, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = resourceProblems(schema, parsed.error, value).map(({ path, text }) => `  ${path.join(".") || "document"}: ${text}`);
  throw new PlatformError("invalid", `${what} is not valid:\n${problems.join("\n")}`);
}
