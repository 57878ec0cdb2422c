import { membersOf, textOf, valueAt } from "./scan-json.ts";

/** The name of an object; empty namespace: it is in none. */
export interface ObjectName {
  readonly namespace: string;
  readonly name: string;
}

/** The name of the object that begins at `start`; undefined for one without a name. Throws `invalid`. */
export function objectName(bytes: Buffer, start = 0): ObjectName | undefined {
  const metadata = valueAt(bytes, start, "metadata");
  if (metadata === undefined) return undefined;
  let name: string | undefined;
  let namespace: string | undefined;
  for (const { key, start: value } of membersOf(bytes, metadata)) {
    if (key === "name") name = textOf(bytes, value);
    else if (key === "namespace") namespace = textOf(bytes, value);
    if (name !== undefined && namespace !== undefined) break;
  }
  return name === undefined || name === "" ? undefined : { namespace: namespace ?? "", name };
}

/** The name of the object of a table's row, which begins at `start`; undefined if the client asked for a table without objects. Throws `invalid`. */
export function rowName(bytes: Buffer, start = 0): ObjectName | undefined {
  const object = valueAt(bytes, start, "object");
  return object === undefined || bytes[object] !== 0x7b ? undefined : objectName(bytes, object);
}
