/** A whole answer of HTTP/1.1 in plain text, the last of its connection. `status`: number and reason. Pure. */
export function plainAnswer(status: string, text: string): Buffer {
  const fields = [
    "Content-Type: text/plain; charset=utf-8",
    `Content-Length: ${Buffer.byteLength(text)}`,
    "Cache-Control: no-store",
    "X-Content-Type-Options: nosniff",
    "Connection: close",
  ];
  return Buffer.from(`HTTP/1.1 ${status}\r\n${fields.join("\r\n")}\r\n\r\n${text}`);
}
