// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what this matches
const unprintable = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Text of a peer made safe for a terminal: control characters are shown as escapes, so that no name or label can paint. */
export function printable(text: string): string {
  return text.replace(unprintable, (character) => {
    const code = character.charCodeAt(0);
    return code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

/** The same within quotes of JSON or YAML: the escape represents the same character. */
export function escapeControls(quoted: string): string {
  return quoted.replace(unprintable, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

export function hasControls(text: string): boolean {
  return text.search(unprintable) >= 0;
}
