/** Bytes as text for users and logs: where they are not UTF-8, those above 7F are shown as \xNN, so that different bytes look different. */
export function shownText(bytes: Buffer): string {
  const text = bytes.toString("utf8");
  // As many characters as bytes: ASCII, or bytes that were replaced one by one.
  if (text.length === bytes.length && !text.includes("\uFFFD")) return text;
  if (Buffer.from(text).equals(bytes)) return text;
  return bytes.toString("latin1").replace(/[\u0080-\u00ff]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16)}`);
}
