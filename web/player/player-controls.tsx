import { useId } from "preact/hooks";
import { lengthText } from "../text/time.ts";
import { speeds } from "./pace.ts";
import type { TerminalPlayer } from "./terminal-player.ts";

/** Play and pause, the position, speed, idle time, the end of a session that goes on. */
export function PlayerControls({ player }: { readonly player: TerminalPlayer }) {
  const id = useId();
  const { isPaused, position, length, speed, skipsIdle, isRunning, isFollowing } = player;
  const [at, all] = [lengthText(position.value * 1000), lengthText(length.value * 1000)];
  return (
    <div class="controls">
      <button type="button" class="primary" onClick={() => player.setPaused(!isPaused.value)}>
        {isPaused.value ? "Play" : "Pause"}
      </button>
      <input
        class="position"
        type="range"
        min={0}
        max={length.value}
        step={0.1}
        value={position.value}
        aria-label="Position"
        aria-valuetext={`${at} of ${all}`}
        onInput={(event) => player.seek(event.currentTarget.valueAsNumber)}
        onKeyDown={(event) => {
          if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
          event.preventDefault();
          player.press(event.key === "ArrowLeft" ? "back" : "forward");
        }}
      />
      <span class="clock">
        {at} / {all}
      </span>
      <label for={`${id}-speed`}>Speed</label>
      <select id={`${id}-speed`} value={String(speed.value)} onChange={(event) => (speed.value = Number(event.currentTarget.value))}>
        {speeds.map((one) => (
          <option key={one} value={String(one)}>
            {one}×
          </option>
        ))}
      </select>
      <label class="check">
        <input type="checkbox" checked={skipsIdle.value} onChange={(event) => (skipsIdle.value = event.currentTarget.checked)} />
        Skip idle time
      </label>
      {isRunning.value && (
        <button type="button" aria-pressed={isFollowing.value} onClick={() => (isFollowing.value ? player.setPaused(true) : player.follow())}>
          Follow
        </button>
      )}
    </div>
  );
}

/** Notes about the picture, such as what it may lack. */
export function PictureNotes({ player }: { readonly player: TerminalPlayer }) {
  const { state, isPartial, isDamaged, isFollowing, progress, position } = player;
  const { value: done } = progress;
  const notes = [
    ...(isDamaged.value ? ["The recording is damaged: the intact parts are shown."] : []),
    ...(isPartial.value ? ["An older part of this picture may be missing: it is made from the last output before this moment."] : []),
    ...(done === undefined ? [] : [`Showing all output before this moment: ${Math.floor(done * 10) * 10} %`]),
    ...(state.value === "loading" && done === undefined ? ["Loading…"] : []),
    ...(isFollowing.value && state.value !== "loading" ? ["The session goes on; its end is shown as it comes."] : []),
  ];
  return (
    <div class="notes">
      <p class="quiet" role="status">
        {notes.join(" ")}
      </p>
      {isPartial.value && (
        <button type="button" class="link" onClick={() => player.showWhole()}>
          Show all of it
        </button>
      )}
      {done !== undefined && (
        <button type="button" class="link" onClick={() => player.seek(position.value)}>
          Stop
        </button>
      )}
    </div>
  );
}
