/** Headers that change nothing about how a request is read or answered here. */
const name = "(?i:User-Agent|Accept|Accept-Encoding|Accept-Language|Forwarded|Via|X-[-A-Za-z0-9]{1,64})";
const harmless = `(?:(?:${name}: [ -~]{0,256}|(?i:Connection: keep-alive))\\r\\n){0,12}`;
const plain = new RegExp(`GET (/[!-~]{0,512}) HTTP/1\\.1\\r\\n${harmless}(?i:Host): [!-~]{1,255}\\r\\n${harmless}\\r\\n`, "y");

export interface PlainRequest {
  /** As it was sent. */
  readonly path: string;
  /** Where the next request begins. */
  readonly end: number;
}

/**
 * The request that begins at `at`, if it is a whole GET of HTTP/1.1 with one host, no body, and no header but those that are
 * known not to matter. Undefined for every other, also for one that is not complete: a real parser is to read it.
 */
export function readPlainRequest(text: string, at: number): PlainRequest | undefined {
  plain.lastIndex = at;
  const path = plain.exec(text)?.[1];
  return path === undefined ? undefined : { path, end: plain.lastIndex };
}
