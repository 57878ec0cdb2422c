/** The value in a text message; undefined for one that is not JSON. */
export function readText(data: Buffer): unknown {
  try {
    return JSON.parse(data.toString("utf8"));
  } catch {
    return undefined;
  }
}
