import { useEffect, useRef, useState } from "preact/hooks";
import type { RecordingIndex } from "../../core/api/web/activity.ts";
import { notifyError } from "../parts/notice.tsx";
import { openTerminal } from "../terminal-view/open-terminal.ts";
import { loadPart } from "./load-part.ts";
import { keyOf } from "./pace.ts";
import { PlayerControls } from "./player-controls.tsx";
import { RecordingSource } from "./recording-source.ts";
import { TerminalPlayer } from "./terminal-player.ts";
import { TextFinder } from "./text-finder.tsx";

/** The player of a terminal's recording: the terminal, controls, search. */
export function TerminalPlayerView({ index }: { readonly index: RecordingIndex }) {
  const { recording, points } = index;
  const place = useRef<HTMLElement>(null);
  const [opened, setOpened] = useState<{ readonly player: TerminalPlayer; readonly source: RecordingSource }>();
  // One player for each recording.
  useEffect(() => {
    const stop = new AbortController();
    const source = new RecordingSource((ask) => loadPart(recording.sid, ask));
    const begin = async (element: HTMLElement): Promise<void> => {
      const terminal = await openTerminal(element, { disableStdin: true, cursorBlink: false });
      stop.signal.addEventListener("abort", () => terminal.dispose());
      if (stop.signal.aborted) return terminal.dispose();
      terminal.attachCustomKeyEventHandler(() => false);
      if (terminal.textarea !== undefined) terminal.textarea.tabIndex = -1;
      const player = new TerminalPlayer({ terminal, source, points, length: lengthOf(index) });
      setOpened({ player, source });
      await player.run(stop.signal);
    };
    if (place.current !== null) begin(place.current).catch((thrown: unknown) => stop.signal.aborted || notifyError(thrown));
    return () => stop.abort();
  }, [recording.sid]);
  const player = opened?.player;
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (player === undefined || event.ctrlKey || event.metaKey || event.altKey || isField(event.target)) return;
      const key = keyOf(event.key);
      if (key === undefined || (key === "pause" && event.target instanceof HTMLButtonElement)) return;
      event.preventDefault();
      player.press(key);
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [player]);
  return (
    <div class="player">
      {opened !== undefined && <PlayerControls player={opened.player} />}
      <section class="screen" ref={place} aria-label="What the terminal showed" />
      {opened !== undefined && <TextFinder source={opened.source} seek={(time) => opened.player.seek(time)} />}
    </div>
  );
}

/** The length as far as it is known, s. */
function lengthOf({ recording: { started, ended }, points }: RecordingIndex): number {
  const stated = ended === undefined ? 0 : (Date.parse(ended) - Date.parse(started)) / 1000;
  return Math.max(0, stated, points.at(-1)?.time ?? 0);
}

function isField(target: EventTarget | null): boolean {
  return target instanceof HTMLInputElement || target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement;
}
