import { useEffect } from "preact/hooks";
import type { RecordingIndex } from "../../core/api/web/activity.ts";
import type { Recording } from "../../core/resources/recording.ts";
import { useLoaded } from "../api/load.ts";
import { call } from "../api/request.ts";
import { CommandLine } from "../parts/command-line.tsx";
import { Answer, Empty, Page } from "../parts/page.tsx";
import { TimeText } from "../parts/time-text.tsx";
import { RecordList } from "../player/record-list.tsx";
import { type TerminalPlayerFacts, TerminalPlayerView } from "../player/terminal-player-view.tsx";
import { place } from "../router/location.ts";
import { matchRoute } from "../router/match-route.ts";
import { preloadTerminal } from "../terminal-view/open-terminal.ts";
import { recordedPlace } from "../text/recorded-place.ts";

export const recordingPath = "/recordings/:sid";

/** One recording, with the player of its format. */
export function RecordingPage() {
  const sid = matchRoute(recordingPath, place.value.path)?.sid ?? "";
  const loaded = useLoaded(sid, (signal) => call<RecordingIndex>(`/recordings/${encodeURIComponent(sid)}`, { signal }));
  const recording = loaded.value?.recording;
  // Most recordings are of terminals, and the index of a long one takes a while.
  useEffect(() => void preloadTerminal().catch(() => {}), []);
  return (
    <Page title={recording === undefined ? "Recording" : `Recording of ${recordedPlace(recording)}`}>
      <Answer of={loaded}>
        {(index) => (
          <>
            <Subject of={index.recording} />
            <Player index={index} ended={loaded.reload} />
          </>
        )}
      </Answer>
    </Page>
  );
}

function Subject({ of: { user, started, state } }: { readonly of: Recording }) {
  return (
    <p class="quiet">
      {user}, <TimeText at={started} />
      {state === "running" && "; the session goes on, and the recording with it"}
      {state === "interrupted" && "; the recording was cut short"}
    </p>
  );
}

function Player({ index, ended }: TerminalPlayerFacts) {
  const { format = "asciicast", sid } = index.recording;
  if (format === "asciicast") return <TerminalPlayerView index={index} ended={ended} />;
  if (format === "statements" || format === "requests") return <RecordList sid={sid} of={format} ended={ended} />;
  return (
    <Empty title={`This version has no player for recordings of format ${format}`}>
      <CommandLine line={`tsh play ${sid}`} />
    </Empty>
  );
}
