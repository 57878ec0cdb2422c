import { randomUUID } from "node:crypto";

/**
 * A new uid for an event of this time: a UUID of version 7 (RFC 9562), milliseconds and 74 random bits. Events that arrive together are neighbours in the
 * store's index of uids, and share its pages; of random uids, each one has a page of its own to read, to change and to write.
 */
export function newEventUid(now: Date): string {
  const time = Math.max(0, now.getTime());
  const [high, low] = [Math.floor(time / 0x10000), time % 0x10000];
  return `${high.toString(16).padStart(8, "0")}-${low.toString(16).padStart(4, "0")}-7${randomUUID().slice(15)}`;
}
