/** Longest text of a member, bytes. */
const maxText = 1024 * 1024;

/** Text of a member; undefined for one that is damaged, or longer than any that is written. */
export async function inflateMember(member: Uint8Array<ArrayBuffer>): Promise<string | undefined> {
  const reader = new Blob([member]).stream().pipeThrough(new DecompressionStream("gzip")).getReader();
  const decoder = new TextDecoder();
  const parts: string[] = [];
  let length = 0;
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      length += part.value.length;
      if (length > maxText) {
        await reader.cancel();
        return undefined;
      }
      parts.push(decoder.decode(part.value, { stream: true }));
    }
  } catch {
    return undefined;
  }
  return parts.join("") + decoder.decode();
}
