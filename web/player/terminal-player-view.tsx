import { useSignalEffect } from "@preact/signals";
import type { Terminal } from "@xterm/xterm";
import { useEffect, useRef, useState } from "preact/hooks";
import type { RecordingIndex } from "../../core/api/web/activity.ts";
import { notifyError } from "../parts/notice.tsx";
import { place as address } from "../router/location.ts";
import { openTerminal } from "../terminal-view/open-terminal.ts";
import { isForScreenReaders, keepForScreenReaders } from "../terminal-view/screen-reader.ts";
import { loadPart } from "./load-part.ts";
import { keyOf } from "./pace.ts";
import { PictureNotes, PlayerControls } from "./player-controls.tsx";
import { RecordingSource } from "./recording-source.ts";
import { Screen } from "./screen.ts";
import { TerminalPlayer } from "./terminal-player.ts";
import { TextFinder } from "./text-finder.tsx";

export interface TerminalPlayerFacts {
  readonly index: RecordingIndex;
  /** Called once when a session that went on has ended. */
  ended(): void;
}

interface Opened {
  readonly player: TerminalPlayer;
  readonly source: RecordingSource;
  readonly terminal: Terminal;
}

/** The player of a terminal's recording: controls, the terminal, search. `?at=end` follows a session that goes on. */
export function TerminalPlayerView({ index, ended }: TerminalPlayerFacts) {
  const { recording } = index;
  const place = useRef<HTMLElement>(null);
  const [opened, setOpened] = useState<Opened>();
  // One player for each recording.
  useEffect(() => {
    const stop = new AbortController();
    const begin = async (element: HTMLElement): Promise<void> => {
      const next = await open(element, index);
      stop.signal.addEventListener("abort", () => next.terminal.dispose());
      if (stop.signal.aborted) return next.terminal.dispose();
      if (recording.state === "running" && address.value.query.get("at") === "end") next.player.follow();
      setOpened(next);
      await next.player.run(stop.signal);
    };
    if (place.current !== null) begin(place.current).catch((thrown: unknown) => stop.signal.aborted || notifyError(thrown));
    return () => stop.abort();
  }, [recording.sid]);
  useSignalEffect(() => {
    if (opened?.player.isRunning.value === false && recording.state === "running") ended();
  });
  useKeys(opened);
  return (
    <div class="player">
      {opened === undefined ? <div class="controls" /> : <PlayerControls player={opened.player} />}
      <section class="screen" ref={place} aria-label="What the terminal showed" />
      {opened !== undefined && <BelowScreen opened={opened} />}
    </div>
  );
}

/** A terminal that shows and takes no keys, and a player that waits to be run. */
async function open(element: HTMLElement, index: RecordingIndex): Promise<Opened> {
  const { recording, points } = index;
  const source = new RecordingSource((ask) => loadPart(recording.sid, ask));
  const terminal = await openTerminal(element, { disableStdin: true, cursorBlink: false, screenReaderMode: isForScreenReaders() });
  terminal.attachCustomKeyEventHandler(() => false);
  if (terminal.textarea !== undefined) terminal.textarea.tabIndex = -1;
  const player = new TerminalPlayer({
    screen: new Screen(terminal),
    source,
    points,
    length: lengthOf(index),
    isRunning: recording.state === "running",
    nextFrame,
  });
  return { player, source, terminal };
}

/** Time between two pictures of a page that nobody sees, ms. */
const hiddenMs = 1_000;

function nextFrame(): Promise<void> {
  return new Promise((resolve) => (document.hidden ? setTimeout(resolve, hiddenMs) : requestAnimationFrame(() => resolve())));
}

/** Keys of the player, wherever the focus is, unless they mean something there. */
function useKeys(opened: Opened | undefined): void {
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (opened === undefined || event.ctrlKey || event.metaKey || event.altKey || isField(event.target)) return;
      const key = keyOf(event.key);
      if (key === undefined || (key === "pause" && event.target instanceof HTMLButtonElement)) return;
      event.preventDefault();
      if (key === "older" || key === "newer") opened.terminal.scrollPages(key === "older" ? -1 : 1);
      else opened.player.press(key);
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [opened]);
}

function BelowScreen({ opened: { player, source, terminal } }: { readonly opened: Opened }) {
  const [isOn, setOn] = useState(isForScreenReaders);
  const change = (next: boolean): void => {
    setOn(next);
    keepForScreenReaders(next);
    terminal.options.screenReaderMode = next;
  };
  return (
    <>
      <div class="below-screen">
        <PictureNotes player={player} />
        <label class="check">
          <input type="checkbox" checked={isOn} onChange={({ currentTarget }) => change(currentTarget.checked)} />
          Screen reader mode
        </label>
      </div>
      <p class="quiet keys">
        <kbd>Space</kbd> pauses, <kbd>←</kbd> <kbd>→</kbd> go by 10 s, <kbd>↑</kbd> <kbd>↓</kbd> change the speed, <kbd>Home</kbd> <kbd>End</kbd> go
        to either end, <kbd>Page Up</kbd> <kbd>Page Down</kbd> scroll.
      </p>
      <TextFinder source={source} seek={(time) => player.seek(time)} />
    </>
  );
}

/** The length as far as it is known, s. */
function lengthOf({ recording: { started, ended }, points }: RecordingIndex): number {
  const stated = ended === undefined ? 0 : (Date.parse(ended) - Date.parse(started)) / 1000;
  return Math.max(0, stated, points.at(-1)?.time ?? 0);
}

/** A field has keys of its own, and so has the text that a screen reader moves in. */
function isField(target: EventTarget | null): boolean {
  const isInput = target instanceof HTMLInputElement || target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement;
  return isInput || (target instanceof Element && target.closest("dialog, .xterm-accessibility") !== null);
}
