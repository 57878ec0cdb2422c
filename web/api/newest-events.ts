import type { EventPage } from "../../core/api/web/activity.ts";
import { call } from "./request.ts";

/** The newest events of a filter, oldest first, and the cursor for those that come later. Throws CallError. */
export async function newestEvents(
  filter: Readonly<Record<string, string>>,
  { most, signal }: { readonly most: number; readonly signal: AbortSignal },
): Promise<Pick<EventPage, "events" | "resume">> {
  let page = await call<EventPage>("/events", { query: { ...filter, newest: String(most) }, signal });
  const events = [...page.events];
  // An answer has 1 MB at most: the newest ones are in the last.
  while (page.cursor !== "" && page.events.length > 0) {
    page = await call<EventPage>("/events", { query: { ...filter, cursor: page.cursor }, signal });
    events.push(...page.events);
  }
  return { events: events.slice(-most), resume: page.resume };
}
