import { useState } from "preact/hooks";
import type { ListedSession } from "../../core/resources/session.ts";
import { useEvery, useLoaded } from "../api/load.ts";
import { call } from "../api/request.ts";
import { CommandLine } from "../parts/command-line.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Facts } from "../parts/facts.tsx";
import { ListPage } from "../parts/list-page.tsx";
import { Empty } from "../parts/page.tsx";
import type { Column } from "../parts/table.tsx";
import { TimeText } from "../parts/time-text.tsx";
import { hrefOf } from "../router/location.ts";

const refreshMs = 10_000;

/** The running sessions that the user may see. */
export function Sessions() {
  const loaded = useLoaded(
    "sessions",
    async (signal) => (await call<{ sessions: readonly ListedSession[] }>("/running-sessions", { signal })).sessions,
  );
  useEvery(refreshMs, loaded.reload);
  const [shown, show] = useState<ListedSession>();
  return (
    <>
      <ListPage
        title="Sessions"
        noun="session"
        loaded={loaded}
        columns={columnsOf(show)}
        keyOf={({ sid }) => sid}
        textOf={({ sid, user, login, server_name: host }) => `${sid} ${user} ${login}@${host}`}
        order={{ id: "started", down: true }}
        empty={
          <Empty title="No session is running">
            <p>
              Sessions that have ended are in <a href="/web/recordings">Recordings</a>.
            </p>
          </Empty>
        }
      />
      {shown !== undefined && <SessionDialog session={shown} close={() => show(undefined)} />}
    </>
  );
}

function columnsOf(show: (session: ListedSession) => void): readonly Column<ListedSession>[] {
  return [
    {
      id: "where",
      title: "Where",
      by: ({ server_name: host }) => host,
      share: 3,
      cell: (session) => (
        <button type="button" class="link" onClick={() => show(session)}>
          {session.login}@{session.server_name}
        </button>
      ),
    },
    { id: "user", title: "User", by: ({ user }) => user, cell: ({ user }) => user },
    { id: "started", title: "Started", by: ({ started }) => Date.parse(started), cell: ({ started }) => <TimeText at={started} ago /> },
    {
      id: "joined",
      title: "Joined by",
      wide: true,
      cell: ({ participants }) => participants.map(({ user, mode }) => `${user} (${mode})`).join(", ") || <span class="quiet">nobody</span>,
    },
  ];
}

function SessionDialog({ session, close }: { readonly session: ListedSession; readonly close: () => void }) {
  const { sid, user, login, server_name: host, started, participants, modes } = session;
  return (
    <Dialog title={`${login}@${host}`} close={close}>
      <Facts
        of={[
          ["User", user],
          ["Started", <TimeText key="started" at={started} />],
          ["Joined by", participants.length === 0 ? "nobody" : participants.map((one) => `${one.user} (${one.mode})`).join(", ")],
          ["Id", <code key="id">{sid}</code>],
        ]}
      />
      <h3>Join</h3>
      {modes.length === 0 ? (
        <p>None of your roles lets you join this session.</p>
      ) : (
        <>
          <p class="buttons">
            {modes.map((mode) => (
              <a key={mode} class="button" href={hrefOf(`/terminal?${new URLSearchParams({ session: sid, mode })}`)} target="_blank" rel="noopener">
                {mode === "observer" ? "Watch in the browser" : "Take part in the browser"}
              </a>
            ))}
          </p>
          {modes.map((mode) => (
            <CommandLine key={mode} line={`tsh join --mode=${mode} ${sid}`} />
          ))}
        </>
      )}
    </Dialog>
  );
}
