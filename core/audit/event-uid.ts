import { randomUUID } from "node:crypto";

/**
 * A new uid for an event of this time: a UUID of version 7 (RFC 9562), milliseconds and 74 random bits. Events that arrive together are neighbours in the
 * store's index of uids, and share its pages; of random uids, each one has a page of its own to read, to change and to write.
 */
export function newEventUid(now: Date): string {
  const time = Math.max(0, now.getTime());
  if (time !== latest.time) latest = { time, text: timeText(time) };
  return `${latest.text}${randomUUID().slice(15)}`;
}

/** Many events have the same time. */
let latest = { time: 0, text: timeText(0) };

function timeText(time: number): string {
  const [high, low] = [Math.floor(time / 0x10000), time % 0x10000];
  return `${high.toString(16).padStart(8, "0")}-${low.toString(16).padStart(4, "0")}-7`;
}
