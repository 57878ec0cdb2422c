/** Maximum bytes of JSON of what a client states in one event. The rest of the longest event (`maxAuditEvent`) is for the session's own fields. */
const maxStated = 48 * 1024;
/** Fields with many texts of a client: each text is bounded, but together they can be too long. */
const lists = ["db_query_parameters", "parameters", "function_args", "settings"] as const;
const cut = "… (cut)";

/** The event with as many of a client's parameters as fit: the auth service would refuse a longer event, and the statement would be in no log. Pure. */
export function fitEvent<Event extends object>(event: Event): Event {
  for (const name of lists) {
    const texts: unknown = Reflect.get(event, name);
    if (!Array.isArray(texts) || isShort(event, texts)) continue;
    const others = bytesOf({ ...event, [name]: [] });
    return { ...event, [name]: fitting(texts, maxStated - others) };
  }
  return event;
}

/** Whether it needs no closer look: a character takes at most six bytes in JSON. */
function isShort(event: object, texts: readonly unknown[]): boolean {
  const length = [...Object.values(event), ...texts].reduce((sum: number, value) => sum + (typeof value === "string" ? value.length + 8 : 8), 0);
  return length * 6 <= maxStated;
}

function fitting(texts: readonly unknown[], room: number): readonly unknown[] {
  let left = room;
  const end = texts.findIndex((text) => {
    left -= bytesOf(text) + 1;
    return left < cut.length * 3;
  });
  return end < 0 ? texts : [...texts.slice(0, end), cut];
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
