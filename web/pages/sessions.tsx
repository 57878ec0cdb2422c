import { useState } from "preact/hooks";
import type { ListedSession } from "../../core/resources/session.ts";
import { useEvery, useLoaded } from "../api/load.ts";
import { call } from "../api/request.ts";
import { can, person } from "../api/session.ts";
import { CommandLine } from "../parts/command-line.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Facts } from "../parts/facts.tsx";
import { ListPage } from "../parts/list-page.tsx";
import { Empty } from "../parts/page.tsx";
import type { Column } from "../parts/table.tsx";
import { TimeText } from "../parts/time-text.tsx";
import { hrefOf } from "../router/location.ts";
import { TerminalForm } from "../terminal/terminal-form.tsx";
import { sessionPlace } from "../text/session-place.ts";

const refreshMs = 3_000;

/** The running sessions that the user may see, as they come and end. */
export function Sessions() {
  const loaded = useLoaded(
    "sessions",
    async (signal) => (await call<{ sessions: readonly ListedSession[] }>("/running-sessions", { signal })).sessions,
  );
  useEvery(refreshMs, loaded.refresh);
  const [shown, show] = useState<ListedSession>();
  const present = new Map(loaded.value?.map((session) => [session.sid, session]));
  const current = present.get(shown?.sid ?? "");
  return (
    <>
      <ListPage
        title="Sessions"
        noun="session"
        loaded={loaded}
        columns={columnsOf(show, present)}
        keyOf={({ sid }) => sid}
        textOf={(session) => `${session.sid} ${session.user} ${sessionPlace(session)}`}
        order={{ id: "started", down: true }}
        empty={
          <Empty title="No session is running">
            <p>
              Sessions that have ended are in <a href="/web/recordings">Recordings</a>.
            </p>
          </Empty>
        }
      />
      {shown !== undefined && <SessionDialog session={current ?? shown} isOver={current === undefined} close={() => show(undefined)} />}
    </>
  );
}

function columnsOf(show: (session: ListedSession) => void, present: ReadonlyMap<string, ListedSession>): readonly Column<ListedSession>[] {
  return [
    {
      id: "where",
      title: "Where",
      by: (session) => (session.pod === undefined ? session.server_name : sessionPlace(session)),
      share: 3,
      narrow: 38,
      cell: (session) => (
        <>
          <button type="button" class="link" onClick={() => show(session)}>
            {sessionPlace(session)}
          </button>
          {!present.has(session.sid) && <span class="quiet"> has ended</span>}
        </>
      ),
    },
    { id: "user", title: "User", by: ({ user }) => user, cell: ({ user }) => user },
    { id: "started", title: "Started", by: ({ started }) => Date.parse(started), narrow: 34, cell: ({ started }) => <TimeText at={started} ago /> },
    {
      id: "joined",
      title: "Joined by",
      wide: true,
      cell: ({ participants }) => participants.map(({ user, mode }) => `${user} (${mode})`).join(", ") || <span class="quiet">nobody</span>,
    },
  ];
}

interface SessionDialogFacts {
  readonly session: ListedSession;
  /** It ended while the dialog was open. */
  readonly isOver: boolean;
  close(): void;
}

function SessionDialog({ session, isOver, close }: SessionDialogFacts) {
  const { sid, user, started, participants } = session;
  const mayPlay = can("session", "read") || person.value?.user === user;
  return (
    <Dialog title={sessionPlace(session)} close={close}>
      <Facts
        of={[
          ["User", user],
          ["Started", <TimeText key="started" at={started} />],
          ["Joined by", participants.length === 0 ? "nobody" : participants.map((one) => `${one.user} (${one.mode})`).join(", ")],
          ["Id", <code key="id">{sid}</code>],
        ]}
      />
      <h3>Join</h3>
      {isOver ? <p role="status">This session has ended.</p> : <Join session={session} />}
      {mayPlay && (
        <>
          <h3>Recording</h3>
          <p>
            <a class="button" href={hrefOf(`/recordings/${sid}${isOver ? "" : "?at=end"}`)}>
              {isOver ? "Play the recording" : "Follow the recording"}
            </a>
          </p>
        </>
      )}
    </Dialog>
  );
}

function Join({ session: { sid, modes } }: Pick<SessionDialogFacts, "session">) {
  if (modes.length === 0) return <p>None of your roles lets you join this session.</p>;
  return (
    <>
      <div class="buttons first">
        {modes.map((mode) => (
          <TerminalForm key={mode}>
            <input type="hidden" name="session" value={sid} />
            <input type="hidden" name="mode" value={mode} />
            <button type="submit">{mode === "observer" ? "Watch in the browser" : "Take part in the browser"}</button>
          </TerminalForm>
        ))}
      </div>
      {modes.map((mode) => (
        <CommandLine key={mode} line={`tsh join --mode=${mode} ${sid}`} />
      ))}
    </>
  );
}
