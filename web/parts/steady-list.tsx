import type { ComponentChildren } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import type { Loaded } from "../api/load.ts";
import { type SteadyRows, steadyRows } from "../lists/steady-rows.ts";

/** A list that is loaded again and again, and keeps its rows in their places while somebody is at them. */
export interface SteadyList<Row> extends SteadyRows<Row> {
  /** The rows to show and to sort by; while they are held, those of before. */
  readonly rows: readonly Row[] | undefined;
  hold(isHeld: boolean): void;
}

/** Rows that the reader asked for, by another filter or after a change of their own, are shown at once. */
export function useSteady<Row>({ value, asked }: Pick<Loaded<readonly Row[]>, "value" | "asked">, keyOf: (row: Row) => string): SteadyList<Row> {
  const [isHeld, hold] = useState(false);
  const before = useRef({ rows: value, asked });
  if (!isHeld || before.current.rows === undefined || value === undefined || before.current.asked !== asked) before.current = { rows: value, asked };
  const { rows } = before.current;
  // Keys are those of the rows.
  const steady = useMemo(() => steadyRows(rows ?? [], value ?? rows ?? [], keyOf), [rows, value]);
  return { ...steady, rows, hold };
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
export function FreshRows({ of: { fresh, gone } }: { readonly of: Pick<SteadyList<unknown>, "fresh" | "gone"> }) {
  const parts = [...(fresh > 0 ? [`${fresh.toLocaleString("en")} new`] : []), ...(gone > 0 ? [`${gone.toLocaleString("en")} gone`] : [])];
  return (
    <span class="quiet fresh" role="status">
      {parts.length > 0 && `${parts.join(", ")}. The list updates when you leave it.`}
    </span>
  );
}
