import { nearestName } from "../../../core/config/nearest-name.ts";
import { errorText } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { readDocument, resourceDocument } from "../../../core/resources/document.ts";
import { ruleResources } from "../../../core/resources/resource-specs.ts";
import { type Role, roleSchema } from "../../../core/resources/role.ts";
import type { Entry, Storage } from "../../storage/storage.ts";
import { type Document, fromEntry } from "../document.ts";

/* Stored roles, which another version may have written: those that this version cannot read, and rules on resources that it does not have. */

/** A stored role that this version cannot read: a newer one has written it, before control went back to this version. */
export interface UnreadableRole {
  readonly name: string;
  readonly why: string;
}

export const unreadableHint = "upgrade control again, or write the role without what this version does not know: tctl get role/<name>";

export function readRole(entry: Entry): { readonly role: Role } | UnreadableRole {
  try {
    return { role: fromEntry(roleSchema, entry) };
  } catch (thrown) {
    return { name: storedDocument(entry).metadata.name, why: errorText(thrown) };
  }
}

/** The document as it is stored, with its revision. */
export function storedDocument(entry: Entry): Document {
  const document = readDocument(resourceDocument, entry.value);
  return { ...document, metadata: { ...document.metadata, revision: entry.revision } };
}

export function unreadableText({ name, why }: UnreadableRole): string {
  return `this version cannot read role ${name}: ${why}`;
}

/** All roles, and those that this version cannot read. */
export async function readRoles(storage: Storage): Promise<{ readonly roles: readonly Role[]; readonly unreadable: readonly UnreadableRole[] }> {
  const read = (await storage.list("/role/")).map(readRole);
  return {
    roles: read.flatMap((one) => ("role" in one ? [one.role] : [])),
    unreadable: read.flatMap((one) => ("role" in one ? [] : [one])),
  };
}

/** A sentence for each unreadable role, for `tctl status`. */
export async function unreadableRoleWarnings(storage: Storage): Promise<readonly string[]> {
  return (await readRoles(storage)).unreadable.map((role) => `${unreadableText(role)}; its holders are denied`);
}

export function logUnreadableRoles(unreadable: readonly UnreadableRole[], log: Log): void {
  for (const { name, why } of unreadable)
    log.error("this version cannot read a role: its holders are denied", { role: name, error: why, hint: unreadableHint });
}

/**
 * Resources in a role's rules that this version does not have, a sentence each with its position: such a rule has no effect.
 * Writing such a role is refused; a stored one works without the rule.
 */
export function unknownResources({ spec }: Role): readonly string[] {
  return (["allow", "deny"] as const).flatMap((side) =>
    (spec[side]?.rules ?? []).flatMap(({ resources }, at) =>
      resources.filter((name) => !known.has(name)).map((name) => `spec.${side}.rules.${at}: ${unknownText(name)}`),
    ),
  );
}

const known: ReadonlySet<string> = new Set([...ruleResources, "*"]);

function unknownText(name: string): string {
  const shown = `unknown resource ${JSON.stringify(name)}`;
  const near = nearestName(name, ruleResources);
  return near === undefined ? `${shown}; resources are ${ruleResources.join(", ")} and '*'` : `${shown}; did you mean ${near}?`;
}

/** Logs stored roles with resources that this version does not have. */
export function warnOfUnknownResources(roles: readonly Role[], log: Log): void {
  for (const role of roles) {
    const problems = unknownResources(role);
    if (problems.length > 0) log.warn("a role has rules without effect", { role: role.metadata.name, problems: problems.slice(0, 8) });
  }
}
