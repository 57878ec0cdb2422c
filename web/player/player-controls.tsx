import { useId } from "preact/hooks";
import { lengthText } from "../text/time.ts";
import { speeds } from "./pace.ts";
import type { TerminalPlayer } from "./terminal-player.ts";

/** Play and pause, the position, speed, idle time; below them what is to know about the picture. */
export function PlayerControls({ player }: { readonly player: TerminalPlayer }) {
  const id = useId();
  const { isPaused, position, length, speed, skipsIdle, state, isPartial, isDamaged } = player;
  const [at, all] = [lengthText(position.value * 1000), lengthText(length.value * 1000)];
  const notes = [
    ...(isPartial.value ? ["The picture is made from the last output before this moment; an older part of it may be missing."] : []),
    ...(isDamaged.value ? ["The recording is damaged: the intact parts are shown."] : []),
  ];
  return (
    <>
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
      </div>
      <p class="quiet" role="status">
        {[...notes, ...(state.value === "loading" ? ["Loading…"] : [])].join(" ")}
      </p>
    </>
  );
}
