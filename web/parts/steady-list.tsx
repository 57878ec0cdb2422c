import type { ComponentChildren } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import type { Loaded } from "../api/load.ts";
import { steadyRows } from "../lists/steady-rows.ts";
import { countText } from "../text/size.ts";

/** A list that is loaded again and again, and keeps its rows in their places while somebody is at them. */
export interface SteadyList<Row> {
  readonly loaded: Loaded<readonly Row[]>;
  /** Keys of rows that are shown and no longer there. */
  readonly gone: ReadonlySet<string>;
  /** Number of rows that are there and not shown yet. */
  readonly fresh: number;
  hold(isHeld: boolean): void;
}

const none: ReadonlySet<string> = new Set();

export function useSteady<Row>(loaded: Loaded<readonly Row[]>, keyOf: (row: Row) => string): SteadyList<Row> {
  const [isHeld, hold] = useState(false);
  const before = useRef(loaded.value);
  if (!isHeld || before.current === undefined) before.current = loaded.value;
  // Keys are those of the rows.
  const steady = useMemo(
    () => (loaded.value === undefined || before.current === undefined ? undefined : steadyRows(before.current, loaded.value, keyOf)),
    [loaded.value, before.current],
  );
  return { loaded: { ...loaded, value: steady?.rows }, gone: steady?.gone ?? none, fresh: steady?.fresh ?? 0, hold };
}

/** Around the page of such a list: its rows are held while the pointer or the keyboard's focus is on them. */
export function SteadyArea({ hold, children }: { hold(isHeld: boolean): void; readonly children: ComponentChildren }) {
  const isRow = (target: EventTarget | null): boolean => target instanceof Element && target.closest("tbody") !== null;
  return (
    <div
      class="steady"
      onPointerOver={({ target, pointerType }) => pointerType === "mouse" && hold(isRow(target))}
      onPointerLeave={({ currentTarget }) => hold(isRow(currentTarget.querySelector(":focus-visible")))}
      onFocusIn={({ target }) => target instanceof Element && target.matches(":focus-visible") && hold(isRow(target))}
      onFocusOut={({ currentTarget, relatedTarget }) => {
        if (!isRow(relatedTarget) && currentTarget.querySelector("tbody:hover") === null) hold(false);
      }}
    >
      {children}
    </div>
  );
}

/** How many rows wait. */
export function FreshRows({ of: { fresh }, noun }: { readonly of: Pick<SteadyList<unknown>, "fresh">; readonly noun: string }) {
  return (
    <span class="quiet fresh" role="status">
      {fresh > 0 && `${countText(fresh, `new ${noun}`)}, shown when you leave the list`}
    </span>
  );
}
