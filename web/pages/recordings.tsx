import { useState } from "preact/hooks";
import type { Recording } from "../../core/resources/recording.ts";
import { useEvery, useLoaded } from "../api/load.ts";
import { call } from "../api/request.ts";
import { CommandLine } from "../parts/command-line.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Facts } from "../parts/facts.tsx";
import { ListPage } from "../parts/list-page.tsx";
import { Empty } from "../parts/page.tsx";
import { StateText } from "../parts/state-text.tsx";
import type { Column } from "../parts/table.tsx";
import { TimeText } from "../parts/time-text.tsx";
import { hrefOf } from "../router/location.ts";
import { recordedPlace } from "../text/recorded-place.ts";
import { sizeText } from "../text/size.ts";
import { lengthText } from "../text/time.ts";

interface RecordingPage {
  readonly recordings: readonly Recording[];
  /** Empty: these are all. */
  readonly cursor: string;
}

const refreshMs = 10_000;

/** The newest recordings that the user may see. Those that run grow and end there. */
export function Recordings() {
  const answer = useLoaded("recordings", (signal) => call<RecordingPage>("/recordings", { signal }));
  const loaded = { ...answer, value: answer.value?.recordings };
  useEvery(refreshMs, loaded.refresh);
  const [shown, show] = useState<Recording>();
  return (
    <>
      <ListPage
        title="Recordings"
        noun="recording"
        loaded={loaded}
        columns={columnsOf(show)}
        keyOf={({ sid }) => sid}
        textOf={(one) => `${one.sid} ${one.user} ${recordedPlace(one)} ${one.state}`}
        order={{ id: "started", down: true }}
        foot={
          (answer.value?.cursor ?? "") !== "" && (
            <p class="quiet">Only the newest recordings are listed, and searched: tctl recordings ls finds earlier ones.</p>
          )
        }
        empty={
          <Empty title="Nothing has been recorded yet">
            <p>Sessions are recorded as session_recording of the cluster says; each appears here while it runs.</p>
          </Empty>
        }
      />
      {shown !== undefined && (
        <RecordingDialog recording={loaded.value?.find(({ sid }) => sid === shown.sid) ?? shown} close={() => show(undefined)} />
      )}
    </>
  );
}

function columnsOf(show: (recording: Recording) => void): readonly Column<Recording>[] {
  return [
    {
      id: "where",
      title: "Where",
      by: recordedPlace,
      share: 3,
      narrow: 38,
      cell: (recording) => (
        <button type="button" class="link" onClick={() => show(recording)}>
          {recordedPlace(recording)}
        </button>
      ),
    },
    { id: "user", title: "User", by: ({ user }) => user, cell: ({ user }) => user },
    { id: "started", title: "Started", by: ({ started }) => Date.parse(started), narrow: 34, cell: ({ started }) => <TimeText at={started} short /> },
    { id: "length", title: "Length", by: lengthOf, wide: true, share: 1, cell: (one) => (one.ended === undefined ? "" : lengthText(lengthOf(one))) },
    { id: "size", title: "Size", by: ({ bytes }) => bytes, wide: true, share: 1, cell: ({ bytes }) => sizeText(bytes) },
    { id: "state", title: "State", by: ({ state }) => state, wide: true, cell: ({ state }) => <RecordingState state={state} /> },
  ];
}

function lengthOf({ started, ended }: Recording): number {
  return ended === undefined ? 0 : Date.parse(ended) - Date.parse(started);
}

function RecordingState({ state }: Pick<Recording, "state">) {
  return <StateText tone={state === "complete" ? "good" : state === "running" ? "idle" : "warn"}>{state}</StateText>;
}

function RecordingDialog({ recording, close }: { readonly recording: Recording; readonly close: () => void }) {
  const { sid, user, started, ended, bytes, state, server_name: host } = recording;
  return (
    <Dialog title={recordedPlace(recording)} close={close}>
      <Facts
        of={[
          ["User", user],
          ["Host", host],
          ["Started", <TimeText key="started" at={started} />],
          ["Ended", ended === undefined ? undefined : <TimeText key="ended" at={ended} />],
          ["Size", sizeText(bytes)],
          ["State", <RecordingState key="state" state={state} />],
          ["Id", <code key="id">{sid}</code>],
        ]}
      />
      <h3>Play</h3>
      <p>
        <a class="button primary" href={hrefOf(`/recordings/${sid}`)}>
          Play here
        </a>{" "}
        {state === "running" && (
          <>
            <a class="button" href={hrefOf(`/recordings/${sid}?at=end`)}>
              Follow its end
            </a>{" "}
            {recording.kind === undefined && (
              <a class="button" href={hrefOf(`/sessions?search=${sid}`)}>
                Find the session
              </a>
            )}
          </>
        )}
      </p>
      <CommandLine line={`tsh play ${sid}`} />
    </Dialog>
  );
}
