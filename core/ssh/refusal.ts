import { isErrorCode, PlatformError } from "../errors/platform-error.ts";

/**
 * SSH refuses a login without a reason. Our server sends it in a banner before (RFC 4252 section 5.4), which any client shows;
 * our client reads it back: `refused (denied): the reason`.
 */
export function refusalBanner(error: PlatformError): string {
  return `refused (${error.code}): ${plain(error.message)}${error.hint === undefined ? "" : `; ${plain(error.hint)}`}\r\n`;
}

/** The error in a banner, or undefined for any other banner. The text is a peer's: bounded, without control characters. */
export function readRefusal(banner: string): PlatformError | undefined {
  const [, code, text] = /^refused \(([a-z_]{1,20})\): (.*)/.exec(banner.slice(0, 2000)) ?? [];
  if (code === undefined || text === undefined || !isErrorCode(code)) return undefined;
  return new PlatformError(code, plain(text));
}

function plain(text: string): string {
  return text
    .replace(/\p{C}+/gu, " ")
    .trim()
    .slice(0, 1000);
}
