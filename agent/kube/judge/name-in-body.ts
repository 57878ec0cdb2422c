import { membersOf, textOf } from "../filter/scan-json.ts";
import { fieldsOf, objectIn, onlyField } from "./protobuf-fields.ts";
import type { KubeRequest } from "./read-request.ts";

/** The names in the body of a creation; without one the cluster may choose any name. */
export interface BodyName {
  readonly name?: string | undefined;
  readonly generateName?: string | undefined;
}

/**
 * The name in the body of a creation: JSON or protobuf. A body in another format, or one that two readers could read differently (a member twice, or in
 * another spelling), has no name here: then only a rule for all names allows it. Throws `invalid` for JSON that is not an object. Pure.
 */
export function nameInBody(body: Buffer, contentType: string | undefined): BodyName {
  const [type = ""] = (contentType ?? "application/json").split(";");
  switch (type.trim().toLowerCase()) {
    case "application/json":
      return nameInJson(body);
    case "application/vnd.kubernetes.protobuf":
      return nameInProtobuf(body);
    default:
      return {};
  }
}

/** The same request for the object of this name. Pure. */
export function withBodyName(request: KubeRequest, { name, generateName }: BodyName): KubeRequest {
  if (request.ask.type !== "object" || !request.isNamedInBody) return request;
  const named = name !== undefined && name !== "" ? { name } : generateName !== undefined && generateName !== "" ? { prefix: generateName } : {};
  const place = request.place && { ...request.place, name: named.name ?? "" };
  return { ...request, place, ask: { ...request.ask, ...named } };
}

function nameInJson(body: Buffer): BodyName {
  const metadata = onlyMember(body, 0, ["metadata"]).metadata;
  if (metadata === undefined) return {};
  const { name, generateName } = onlyMember(body, metadata.start, ["name", "generateName"]);
  return { ...(name && { name: textOf(body, name.start) }), ...(generateName && { generateName: textOf(body, generateName.start) }) };
}

/** The members of these names; empty if one of them appears twice or in another spelling. */
function onlyMember<Key extends string>(body: Buffer, start: number, keys: readonly Key[]): { readonly [K in Key]?: { readonly start: number } } {
  const found: { [K in Key]?: { start: number } } = {};
  for (const { key, start: value } of membersOf(body, start)) {
    // Readers may take an escaped name, or one in other case, for the same.
    if (key.includes("\\")) return {};
    const wanted = keys.find((one) => one.toLowerCase() === key.toLowerCase());
    if (wanted === undefined) continue;
    if (wanted !== key || found[wanted] !== undefined) return {};
    found[wanted] = { start: value };
  }
  return found;
}

/** Field numbers in Kubernetes' own definitions: an object's metadata, and the names in it. */
const fields = { metadata: 1, name: 1, generateName: 2 } as const;

function nameInProtobuf(body: Buffer): BodyName {
  const metadata = onlyField(objectIn(body), fields.metadata);
  if (metadata === undefined) return {};
  const [name, generateName] = [fieldsOf(metadata, fields.name), fieldsOf(metadata, fields.generateName)];
  if (name.length > 1 || generateName.length > 1) return {};
  return { ...(name[0] && { name: name[0].toString("utf8") }), ...(generateName[0] && { generateName: generateName[0].toString("utf8") }) };
}
