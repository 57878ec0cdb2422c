import { PlatformError } from "../../../core/errors/platform-error.ts";
import { membersOf, textOf } from "../filter/scan-json.ts";
import type { KubeRequest } from "./read-request.ts";

/** Names of a new object, from the body of its creation; without any the cluster may give it whatever name. */
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

/** Members of these names, none of which is there twice or in another spelling; nothing at all otherwise. */
function onlyMember<Key extends string>(body: Buffer, start: number, keys: readonly Key[]): { readonly [K in Key]?: { readonly start: number } } {
  const found: { [K in Key]?: { start: number } } = {};
  for (const { key, start: value } of membersOf(body, start)) {
    // Readers may take an escaped name, or one in other letters, for the same.
    if (key.includes("\\")) return {};
    const wanted = keys.find((one) => one.toLowerCase() === key.toLowerCase());
    if (wanted === undefined) continue;
    if (wanted !== key || found[wanted] !== undefined) return {};
    found[wanted] = { start: value };
  }
  return found;
}

/** Of the envelope: the object's bytes. Of the object: its metadata. Of that: its names. The numbers of the fields in Kubernetes' own definitions. */
const fields = { raw: 2, metadata: 1, name: 1, generateName: 2 } as const;
const magic = Buffer.from("k8s\0");

function nameInProtobuf(body: Buffer): BodyName {
  if (!body.subarray(0, magic.length).equals(magic)) return {};
  const metadata = onlyField(onlyField(body.subarray(magic.length), fields.raw), fields.metadata);
  if (metadata === undefined) return {};
  const [name, generateName] = [fieldsOf(metadata, fields.name), fieldsOf(metadata, fields.generateName)];
  if (name.length > 1 || generateName.length > 1) return {};
  return { ...(name[0] && { name: name[0].toString("utf8") }), ...(generateName[0] && { generateName: generateName[0].toString("utf8") }) };
}

/** The bytes of a field that is there once: a second one would be merged into it. */
function onlyField(message: Buffer | undefined, wanted: number): Buffer | undefined {
  if (message === undefined) return undefined;
  const found = fieldsOf(message, wanted);
  return found.length === 1 ? found[0] : undefined;
}

/** All fields of this number that have a length. Throws `invalid` for what is not protobuf. */
function fieldsOf(message: Buffer, wanted: number): readonly Buffer[] {
  const found: Buffer[] = [];
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; shift < 10; shift += 1) {
      const byte = message[at];
      at += 1;
      if (byte === undefined) throw new PlatformError("invalid", "the protobuf of the request's body is cut off");
      value += (byte & 0x7f) * 2 ** (7 * shift);
      if (byte < 0x80) return value;
    }
    throw new PlatformError("invalid", "the protobuf of the request's body has a number that is too long");
  };
  while (at < message.length) {
    const key = varint();
    const [field, wire] = [Math.floor(key / 8), key % 8];
    if (wire === 0) varint();
    else if (wire === 1) at += 8;
    else if (wire === 5) at += 4;
    else if (wire === 2) {
      const length = varint();
      if (at + length > message.length) throw new PlatformError("invalid", "the protobuf of the request's body is cut off");
      if (field === wanted) found.push(message.subarray(at, at + length));
      at += length;
    } else throw new PlatformError("invalid", "the protobuf of the request's body cannot be read");
  }
  return found;
}
