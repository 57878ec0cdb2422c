import { type ComponentChildren, Fragment } from "preact";
import { localTime, readTime, relativeTime, shortTime, utcTime } from "../text/time.ts";

export interface TimeFacts {
  /** RFC 3339. */
  readonly at: string | undefined;
  /** As long ago, or as soon. */
  readonly ago?: boolean;
  /** Without what today's reader knows, for tables. */
  readonly short?: boolean;
}

/** A moment in the reader's zone, with UTC on hover; a shortened one is also there in full on hover. */
export function TimeText({ at, ago = false, short = false }: TimeFacts) {
  const time = readTime(at);
  if (time === undefined) return <span class="quiet">unknown</span>;
  const title = ago || short ? `${localTime(time)}, ${utcTime(time)}` : utcTime(time);
  return (
    <time dateTime={time.toISOString()} title={title}>
      {ago ? relativeTime(time, new Date()) : short ? wholeWords(shortTime(time, new Date())) : localTime(time)}
    </time>
  );
}

/** A text that breaks at its spaces alone: a date has hyphens. */
export function wholeWords(text: string): ComponentChildren {
  return text.split(" ").map((word, at) => (
    <Fragment key={at}>
      {at > 0 && " "}
      <span class="whole">{word}</span>
    </Fragment>
  ));
}
