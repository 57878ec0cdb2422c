/**
 * The value of Content-Disposition for a file of this name (RFC 6266): a plain ASCII name, and the real one in UTF-8. A name is a user's of the host: no
 * character of it reaches the header as it is, but letters, digits, `.`, `-` and `_`. Pure.
 */
export function attachment(name: string): string {
  const plain = name.replaceAll(/[^\w.-]/g, "_").slice(0, 200) || "file";
  const coded = encodeURIComponent(name.toWellFormed()).replaceAll(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
  return `attachment; filename="${plain}"; filename*=UTF-8''${coded}`;
}
