import { type Member, memberOf, membersOf, textOf } from "./scan-json.ts";

/** The name of an object; empty namespace: it is in none. */
export interface ObjectName {
  readonly namespace: string;
  readonly name: string;
}

/** The name of the object that begins at `start`; undefined for one without a name. Throws `invalid`. */
export function objectName(bytes: Buffer, start = 0): ObjectName | undefined {
  const metadata = memberOf(bytes, start, "metadata");
  if (metadata === undefined) return undefined;
  let name: string | undefined;
  let namespace: string | undefined;
  for (const member of membersOf(bytes, metadata.start)) {
    if (member.key === "name") name = textOf(bytes, member);
    else if (member.key === "namespace") namespace = textOf(bytes, member);
    if (name !== undefined && namespace !== undefined) break;
  }
  return name === undefined || name === "" ? undefined : { namespace: namespace ?? "", name };
}

/** The name of the object of a table's row, which begins at `start`; undefined when the client wanted none in the table. Throws `invalid`. */
export function rowName(bytes: Buffer, start = 0): ObjectName | undefined {
  const object: Member | undefined = memberOf(bytes, start, "object");
  return object === undefined || bytes[object.start] !== 0x7b ? undefined : objectName(bytes, object.start);
}
