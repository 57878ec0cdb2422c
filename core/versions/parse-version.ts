import parse from "semver/functions/parse.js";

/** A release's version: `text` without the leading v, as it was written. */
export interface Version {
  readonly text: string;
  readonly major: number;
}

/** Maximum length, since it is part of a package's file name. */
const maxLength = 64;

/** A semantic version with or without a leading `v`, and no other text; undefined for anything else. */
export function parseVersion(text: string): Version | undefined {
  if (text.length > maxLength || !/^v?\d[0-9A-Za-z.+-]*$/.test(text)) return undefined;
  const parsed = parse(text);
  return parsed === null ? undefined : { text: text.replace(/^v/, ""), major: parsed.major };
}
