/** Bytes as text for people and logs: where they are not UTF-8, those above 7F stand as \xNN, so that no two look alike. */
export function shownText(bytes: Buffer): string {
  const text = bytes.toString("utf8");
  if (Buffer.from(text).equals(bytes)) return text;
  return bytes.toString("latin1").replace(/[\u0080-\u00ff]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16)}`);
}
