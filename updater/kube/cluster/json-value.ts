/** A value of unknown shape, from outside. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** The value if it is an object, otherwise an empty one: objects of the API server are read field by field. */
export function objectOf(value: unknown): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** An empty text for anything else. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** `otherwise` for anything but a whole number from 0 on. */
export function countOf(value: unknown, otherwise = 0): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : otherwise;
}

/** Texts by name; other values are left out. */
export function textsOf(value: unknown): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(objectOf(value)).filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}

/** The parsed text; undefined for anything but JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
