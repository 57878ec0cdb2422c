import type { AuthClient } from "../../core/api/auth-client.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import type { ResourceSpec } from "../../core/resources/resource-spec.ts";
import { type Resource, type ResourceKind, resourceKinds, resourceSpecs } from "../../core/resources/resource-specs.ts";
import { readResource } from "../auth-lists.ts";

/** Alternative spellings of a kind. */
const aliases: ReadonlyMap<string, ResourceKind> = new Map(
  resourceKinds.flatMap((kind) => resourceSpecs[kind].aliases.map((alias) => [alias, kind])),
);

/** Kinds of the reference for which people have manifests, and their names. */
const unsupported: Readonly<Record<string, string>> = {
  github: "github connectors",
  oidc: "oidc connectors",
  saml: "saml connectors",
  connector: "connectors",
  connectors: "connectors",
};

/** Throws `invalid` with the list of kinds. */
export function parseKind(text: string): ResourceKind {
  const kind = resourceKinds.find((one) => one === text) ?? aliases.get(text);
  if (kind !== undefined) return kind;
  throw new PlatformError("invalid", unknownKindText(text), { hint: `kinds: ${resourceKinds.join(", ")}` });
}

/** The message for a kind that is not one of `resourceKinds`. */
export function unknownKindText(text: string): string {
  const known = Object.hasOwn(unsupported, text) ? unsupported[text] : undefined;
  return known === undefined ? `there is no resource kind ${JSON.stringify(text)}` : `${known} are not supported by this version`;
}

/** `kind` or `kind/name`; a kind with a single resource means that one. */
export function parseReference(text: string): { readonly kind: ResourceKind; readonly name: string | undefined } {
  const slash = text.indexOf("/");
  if (slash < 0) {
    const kind = parseKind(text);
    const spec: ResourceSpec = resourceSpecs[kind];
    return { kind, name: spec.only };
  }
  const name = text.slice(slash + 1);
  if (name !== "") return { kind: parseKind(text.slice(0, slash)), name };
  throw new PlatformError("invalid", `${JSON.stringify(text)} has no name after the slash`, {
    hint: "write it as kind/name, like role/access",
  });
}

/** Documents of one kind from the service, sorted by name. */
export async function listDocuments<T extends Resource>(client: AuthClient, kind: T["kind"], withSecrets = false): Promise<readonly T[]> {
  const { resources } = await client.listResources({ kind, withSecrets });
  return documentsOf<T>(resources);
}

/** The documents of an answer, sorted by name. */
export function documentsOf<T extends Resource>(resources: readonly { readonly json: string }[]): readonly T[] {
  const documents = resources.map(({ json }) => readResource<T>(json));
  return documents.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}

export async function getDocument<T extends Resource>(
  client: AuthClient,
  kind: T["kind"],
  wanted: { readonly name: string; readonly withSecrets?: boolean },
): Promise<T> {
  const { json } = await client.getResource({ kind, ...wanted });
  return readResource<T>(json);
}
