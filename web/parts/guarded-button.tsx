import { useEffect, useMemo } from "preact/hooks";
import { followSight, PressGuard } from "./press-guard.ts";

export interface GuardedButtonFacts {
  /** The verb. */
  readonly verb: string;
  readonly act: () => void;
  /** Called in place of `act` for a press that was too early to be meant. */
  readonly early: () => void;
}

/**
 * The button for an action that only the address of a page asked for. It looks as always, but takes a press only once the page has been in view for half a
 * second.
 */
export function GuardedButton({ verb, act, early }: GuardedButtonFacts) {
  const guard = useMemo(() => new PressGuard(), []);
  useEffect(() => followSight(guard, window, () => performance.now()), [guard]);
  return (
    <button
      type="button"
      class="primary"
      onPointerDown={({ timeStamp }) => guard.pressed(timeStamp)}
      onKeyDown={({ timeStamp, repeat }) => guard.pressed(timeStamp, repeat)}
      onClick={({ timeStamp }) => (guard.takes(timeStamp) ? act() : early())}
    >
      {verb}
    </button>
  );
}
