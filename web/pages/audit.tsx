import { useRef, useState } from "preact/hooks";
import type { EventPage } from "../../core/api/web/activity.ts";
import { useEvery, useLoaded } from "../api/load.ts";
import { newestEvents } from "../api/newest-events.ts";
import { call } from "../api/request.ts";
import { hasSameEnds } from "../lists/same-ends.ts";
import { Dialog } from "../parts/dialog.tsx";
import { ListPage } from "../parts/list-page.tsx";
import { notifyError } from "../parts/notice.tsx";
import { Empty } from "../parts/page.tsx";
import type { Column } from "../parts/table.tsx";
import { TimeText } from "../parts/time-text.tsx";
import { place } from "../router/location.ts";
import { type AuditRecord, eventDetails, eventField, eventsCsv, shortActor } from "../text/event-text.ts";
import { dayBegin } from "../text/time.ts";
import { AuditFilter } from "./audit-filter.tsx";

/** Number of events shown at first. */
const newest = 1000;
/** Interval of live events, ms. */
const followMs = 2_000;
/** Events held in the page; the oldest go first. */
const mostHeld = 20_000;

/** The audit log, the newest events first; `live`: later events appear by themselves. */
export function Audit() {
  const { query } = place.value;
  const filter = {
    from: dayBegin(query.get("from")),
    to: dayBegin(query.get("to"), 1),
    event: query.get("event") ?? "",
    user: query.get("user") ?? "",
  };
  const { loaded, later, isLive, setLive } = useEvents(filter);
  const [shown, show] = useState<AuditRecord>();
  const all = loaded.value === undefined ? undefined : [...loaded.value, ...later].slice(-mostHeld);
  return (
    <>
      <ListPage
        title="Audit log"
        noun="event"
        loaded={{ ...loaded, value: useSame(all) }}
        columns={columnsOf(show)}
        keyOf={(event) => eventField(event, "uid")}
        textOf={(event) => JSON.stringify(event)}
        order={{ id: "time", down: true }}
        filters={<AuditFilter isLive={isLive} setLive={setLive} />}
        actions={(found) => (
          <button
            type="button"
            disabled={found.length === 0 || !loaded.isCurrent}
            onClick={() => saveFile("audit.csv", "text/csv", eventsCsv(found))}
          >
            Export
          </button>
        )}
        empty={<Empty title="No event matches" />}
        foot={
          (loaded.value?.length ?? 0) >= newest && (
            <p class="quiet">
              Only the newest {newest.toLocaleString("en")} events are listed, and exported: choose a time, a user or an event for others.
            </p>
          )
        }
      />
      {shown !== undefined && (
        <Dialog title={eventField(shown, "event")} close={() => show(undefined)} wide>
          <pre class="document">{JSON.stringify(shown, undefined, 2)}</pre>
        </Dialog>
      )}
    </>
  );
}

/** The newest events of a filter, and, while `isLive`, those that have come since. */
function useEvents(filter: Readonly<Record<string, string>>) {
  const [isLive, setLive] = useState(false);
  const [later, setLater] = useState<readonly AuditRecord[]>([]);
  const resume = useRef("");
  const key = JSON.stringify(filter);
  const current = useRef(key);
  current.current = key;
  const isAsking = useRef(false);
  const loaded = useLoaded(key, async (signal) => {
    const found = await newestEvents(filter, { most: newest, signal });
    resume.current = found.resume;
    setLater([]);
    return found.events;
  });
  useEvery(followMs, () => {
    if (isLive && resume.current !== "" && !isAsking.current) void follow(resume.current);
  });
  const follow = async (cursor: string): Promise<void> => {
    isAsking.current = true;
    const page = await call<EventPage>("/events", { query: { ...filter, cursor } }).catch(notifyError);
    isAsking.current = false;
    if (page === undefined) return setLive(false);
    // Other events are listed by now.
    if (current.current !== key || resume.current !== cursor) return;
    resume.current = page.cursor || page.resume;
    if (page.events.length > 0) setLater((before) => [...before, ...page.events].slice(-mostHeld));
  };
  return { loaded, later, isLive, setLive };
}

/** Offers a text as a file to save. */
function saveFile(name: string, type: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // The browser has taken it up by then.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** The list of before while it has the same rows: what is drawn from it need not be made again. */
function useSame(all: readonly AuditRecord[] | undefined): readonly AuditRecord[] | undefined {
  const before = useRef(all);
  if (!hasSameEnds(before.current, all)) before.current = all;
  return before.current;
}

function columnsOf(show: (event: AuditRecord) => void): readonly Column<AuditRecord>[] {
  return [
    {
      id: "event",
      title: "Event",
      share: 3,
      by: (event) => eventField(event, "event"),
      cell: (event) => (
        <button type="button" class={event.success === false ? "link bad" : "link"} onClick={() => show(event)}>
          {eventField(event, "event")}
          {event.success === false && " (refused)"}
        </button>
      ),
    },
    {
      id: "time",
      title: "Time",
      by: (event) => Date.parse(eventField(event, "time")),
      cell: (event) => <TimeText at={eventField(event, "time")} short />,
    },
    { id: "user", title: "User", by: (event) => eventField(event, "user"), wide: true, cell: (event) => shortActor(eventField(event, "user")) },
    { id: "details", title: "Details", wide: true, share: 6, cell: (event) => <span title={eventDetails(event)}>{eventDetails(event)}</span> },
  ];
}
