import { z } from "zod";
import { clipFields, makeAuditEvent } from "./audit-event.ts";
import { type AuditEvent, type AuditEventName, type AuditFacts, codeOf, eventShape } from "./audit-events.ts";
import { newEventUid } from "./event-uid.ts";

/** How events of one name with the same shared fields are written. */
interface Template {
  /** The fields that are an event's own, and their schemas. */
  readonly names: readonly string[];
  readonly schema: z.ZodType<object>;
  /** Number of shared fields. */
  readonly others: number;
  /** Length of the event's name at the beginning of its JSON. */
  readonly nameLength: number;
  /** JSON of the cluster's name and the shared fields, from the comma before it on. */
  readonly shared: string;
}

type Templates = Map<AuditEventName, Template | undefined>;

/** Fields that come first in the JSON of each event. */
const first = ["event", "code", "time", "uid", "cluster_name"];

/** Writes events as JSON: that of `makeAuditEvent`. */
export class EventLines {
  readonly #clusterName: string;
  /** By the object of shared fields. */
  readonly #templates = new WeakMap<object, Templates>();

  constructor(clusterName: string) {
    this.#clusterName = clusterName;
  }

  /**
   * JSON of an event at this time, with a new uid. `shared`: an object, always the same one, with fields that many events share, and that these facts have, too. They are
   * checked and encoded with the first event of each name, and then only what is an event's own, for less than half of the processor time. Throws `invalid`.
   */
  write(facts: AuditFacts, now: Date, shared?: object): string {
    const known = shared && this.#templates.get(shared);
    const template = known?.get(facts.event);
    const line = template && writeOwn(template, facts, now);
    if (line !== undefined) return line;
    const event = makeAuditEvent(facts, { clusterName: this.#clusterName, now, uid: newEventUid(now) });
    if (shared !== undefined && known?.has(facts.event) !== true) this.#keep(shared, event, known);
    return JSON.stringify(event);
  }

  #keep(shared: object, event: AuditEvent, known: Templates = new Map()): void {
    known.set(event.event, templateOf(event, Object.keys(shared)));
    this.#templates.set(shared, known);
  }
}

/** Undefined: these are not facts that such an event may have, or it is written as a whole. */
function writeOwn({ names, schema, others, nameLength, shared }: Template, facts: AuditFacts, now: Date): string | undefined {
  const own: Record<string, unknown> = {};
  let left = Object.keys(facts).length - others;
  for (const name of names) {
    if (!(name in facts)) continue;
    own[name] = Reflect.get(facts, name);
    left -= 1;
  }
  if (left !== 0) return undefined;
  clipFields(own, own);
  const { data } = schema.safeParse(own);
  if (data === undefined) return undefined;
  const rest = JSON.stringify(data).slice(nameLength);
  return `{"event":"${facts.event}","code":"${codeOf(facts)}","time":"${timeText(now)}","uid":"${newEventUid(now)}"${shared}${rest}`;
}

/** Many events have the same time. */
let latest = { time: 0, text: new Date(0).toISOString() };

function timeText(now: Date): string {
  const time = now.getTime();
  if (time !== latest.time) latest = { time, text: now.toISOString() };
  return latest.text;
}

/** Undefined: in the JSON of such events the shared fields do not come before all others. */
function templateOf(event: AuditEvent, shared: readonly string[]): Template | undefined {
  const order = Object.keys(eventShape(event.event));
  const end = 1 + Math.max(first.length - 1, ...shared.map((one) => order.indexOf(one)));
  const [head, before] = [order.slice(0, first.length), order.slice(first.length, end).filter((one) => one in event)];
  if (head.some((one, index) => one !== first[index]) || before.some((one) => !shared.includes(one))) return undefined;
  const fields = Object.fromEntries(["cluster_name", ...before].map((one) => [one, Reflect.get(event, one)]));
  return {
    ...ownOf(event.event, end),
    others: shared.length,
    nameLength: JSON.stringify({ event: event.event }).length - 1,
    shared: `,${JSON.stringify(fields).slice(1, -1)}`,
  };
}

/** By name of the event and number of fields before its own. */
const schemas = new Map<string, Pick<Template, "names" | "schema">>();

function ownOf(event: AuditEventName, from: number): Pick<Template, "names" | "schema"> {
  const key = `${from} ${event}`;
  const known = schemas.get(key);
  if (known !== undefined) return known;
  const own = Object.entries(eventShape(event)).filter(([name], index) => name === "event" || index >= from);
  const made = { names: own.map(([name]) => name), schema: z.strictObject(Object.fromEntries(own)) };
  schemas.set(key, made);
  return made;
}
