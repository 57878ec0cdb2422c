/** Header fields as they came: names and values in turns, as Node's `rawHeaders` has them. */
export type RawHeaders = readonly string[];

/** The fields, with their names in lower case. Pure. */
export function fieldsOf(raw: RawHeaders): readonly (readonly [name: string, value: string])[] {
  const fields: [string, string][] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) fields.push([(raw[at] ?? "").toLowerCase(), raw[at + 1] ?? ""]);
  return fields;
}

/** Names that the fields `Connection` list: they are for the next hop alone. Pure. */
export function connectionNames(fields: readonly (readonly [name: string, value: string])[]): ReadonlySet<string> {
  const lists = fields.filter(([name]) => name === "connection" || name === "proxy-connection").map(([, value]) => value);
  return new Set(lists.flatMap((list) => list.split(",").map((one) => one.trim().toLowerCase())).filter((name) => name !== ""));
}
