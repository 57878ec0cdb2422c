import type { UpgradePlan } from "../../core/resources/upgrade-plan.ts";
import { StateText } from "../parts/state-text.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { TimeText, wholeWords } from "../parts/time-text.tsx";
import { place, setQuery } from "../router/location.ts";
import { spanText } from "../text/time.ts";

type Window = NonNullable<UpgradePlan["windows"]>[number];
type Freeze = NonNullable<UpgradePlan["freezes"]>[number];

const zones = Intl.supportedValuesOf("timeZone");
const ownZone = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The next maintenance windows in the reader's zone, in UTC and in one more zone, which is in the address; and the freezes that are not over. */
export function Windows({ windows, freezes }: { readonly windows: readonly Window[]; readonly freezes: readonly Freeze[] }) {
  const zone = chosenZone();
  return (
    <section>
      <h2>Maintenance windows</h2>
      <div class="tools">
        <label class="field wide">
          Also in the zone
          <select value={zone ?? ""} onChange={(event) => setQuery("zone", event.currentTarget.value)}>
            <option value="">none</option>
            {zones.map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        </label>
      </div>
      <WindowTable windows={windows} />
      {freezes.length > 0 && (
        <ul>
          {freezes.map(({ from, until, reason }) => (
            <li key={`${from} ${until}`}>
              Frozen from <TimeText at={from} /> to <TimeText at={until} />
              {reason !== undefined && `: ${reason}`}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** The zone in the page's address; undefined: none. */
function chosenZone(): string | undefined {
  const wanted = place.value.query.get("zone") ?? "";
  return zones.includes(wanted) ? wanted : undefined;
}

/** Windows in the zones that the reader has chosen. */
export function WindowTable({ windows }: { readonly windows: readonly Window[] }) {
  return (
    <Table
      caption="The next maintenance windows"
      columns={columnsOf(
        chosenZone(),
        windows.some(({ frozen }) => frozen !== undefined),
      )}
      rows={windows}
      keyOf={({ start }) => start}
      order={{ id: "own", down: false }}
    />
  );
}

function columnsOf(zone: string | undefined, hasFreeze: boolean): readonly Column<Window>[] {
  const inZone = (id: string, name: string | undefined, title: string, wide = false): Column<Window> => ({
    id,
    title,
    wide,
    share: 3,
    ...(hasFreeze && zone === undefined && !wide && { narrow: 58 }),
    by: ({ start }) => Date.parse(start),
    cell: ({ start, stop }) => <time dateTime={start}>{wholeWords(spanText({ start: new Date(start), stop: new Date(stop) }, name))}</time>,
  });
  return [
    inZone("own", undefined, `Your zone (${ownZone})`),
    ...(zone === undefined ? [] : [inZone("zone", zone, zone)]),
    ...(ownZone === "UTC" ? [] : [inZone("utc", "UTC", "UTC", true)]),
    ...(hasFreeze ? [freeze] : []),
  ];
}

const freeze: Column<Window> = {
  id: "freeze",
  title: "Freeze",
  share: 2,
  cell: ({ frozen }) => frozen !== undefined && <StateText tone="warn">{frozen}</StateText>,
};
