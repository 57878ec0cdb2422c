/** Maximum notices queued for somebody who does not read, bytes; more are dropped. */
export const mostNotices = 16 * 1024;

/** What the platform shows on a terminal, on lines of its own. Pure. */
export function noticeOf(text: string): Buffer {
  return Buffer.from(`\r\nplatform: ${text}\r\n`);
}
