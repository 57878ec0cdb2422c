import { localTime, readTime, relativeTime, utcTime } from "../text/time.ts";

/** A moment in the reader's zone, with UTC on hover; `ago`: as long ago, with both on hover. */
export function TimeText({ at, ago = false }: { readonly at: string | undefined; readonly ago?: boolean }) {
  const time = readTime(at);
  if (time === undefined) return <span class="quiet">unknown</span>;
  const title = ago ? `${localTime(time)}, ${utcTime(time)}` : utcTime(time);
  return (
    <time dateTime={time.toISOString()} title={title}>
      {ago ? relativeTime(time, new Date()) : localTime(time)}
    </time>
  );
}
