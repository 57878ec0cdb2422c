import { PlatformError } from "../../../core/errors/platform-error.ts";
import { authorityNames } from "../../../core/kinds/authority-kinds.ts";
import type { HostBehind, Rotation, RotationPhase } from "../../../core/resources/rotation.ts";
import type { HostRole } from "../../../core/resources/token.ts";
import type { Put, Storage } from "../../storage/storage.ts";
import type { AuthContext } from "../auth-context.ts";
import type { Actor } from "../document.ts";
import { hostsOf } from "../inventory/host-records.ts";
import { askedStep, dueStep, type RotationAsk } from "./next-phase.ts";

type Context = Pick<AuthContext, "authorities" | "audit" | "log" | "now">;

export async function listRotations({ authorities, storage }: Pick<AuthContext, "authorities" | "storage">): Promise<readonly Rotation[]> {
  const rotations = authorities.all.map(({ kind }) => authorities.rotation(kind));
  return await Promise.all(
    rotations.map(async (rotation) =>
      rotation.authority === "host" ? { ...rotation, behind: [...(await hostsBehind(storage, rotation))] } : rotation,
    ),
  );
}

/** Takes the step that an admin requests. It is durable, and then audited, before this resolves. */
export async function rotate(context: Context, ask: RotationAsk & { readonly actor: Actor }): Promise<Rotation> {
  const { authorities, now } = context;
  const time = now();
  let from: RotationPhase = "standby";
  const after = await authorities.step(
    ask.kind,
    (state) => {
      from = state.phase;
      return askedStep(state, ask, time);
    },
    time,
  );
  if (after === undefined) throw new Error("a step that was asked for was not taken");
  record(context, { from, after, actor: ask.actor });
  return after;
}

const clock: Actor = { name: "(automatic)", address: "" };

/** Takes the due steps of automatic rotations. Never throws: a failure is retried at the next check. */
export async function takeDueSteps(context: Context): Promise<void> {
  const { authorities, now, log } = context;
  const time = now();
  for (const kind of authorityNames) {
    if (dueStep(kind, authorities.rotation(kind), time) === undefined) continue;
    let from: RotationPhase = "standby";
    try {
      const after = await authorities.step(
        kind,
        (state) => {
          from = state.phase;
          return dueStep(kind, state, time);
        },
        time,
      );
      if (after !== undefined) record(context, { from, after, actor: clock });
    } catch (error) {
      // Another process took it.
      if (!(error instanceof PlatformError && error.code === "conflict")) log.error("the next step of a rotation failed", { authority: kind, error });
    }
  }
}

function record({ audit, log }: Context, { from, after, actor }: { from: RotationPhase; after: Rotation; actor: Actor }): void {
  const { authority, phase } = after;
  log.info("rotation step taken", { authority, from, phase, by: actor.name });
  audit.emit({ event: "authority.rotated", user: actor.name, name: authority, from, to: phase, "addr.remote": actor.address });
}

/** Maximum number of listed hosts. */
const mostNamed = 1000;

/** `/signer/<role>/<id>`: the pin of the key that signed a host's newest certificate, for as long as that is valid. */
export function signerWrite(role: HostRole, id: string, signer: { readonly pin: string; readonly validBefore: Date }): Put {
  return { key: signerKey(role, id), value: JSON.stringify(signer.pin), expires: signer.validBefore };
}

/**
 * Hosts whose newest certificate is not of the signing key: it becomes invalid with the rotation. A host whose certificate
 * was issued before signers were recorded counts too.
 */
export async function hostsBehind(storage: Storage, { phase, keys }: Pick<Rotation, "phase" | "keys">): Promise<readonly HostBehind[]> {
  if (phase === "standby") return [];
  const signs = JSON.stringify(keys[0]?.ca_pin);
  const signers = new Map((await storage.list("/signer/")).map(({ key, value }) => [key, value]));
  const behind: HostBehind[] = [];
  for (const role of ["proxy", "node"] as const) {
    for (const { id, name } of await hostsOf(storage, role)) {
      if (signers.get(signerKey(role, id)) !== signs && behind.length < mostNamed) behind.push({ role, id, name });
    }
  }
  return behind;
}

function signerKey(role: HostRole, id: string): string {
  return `/signer/${role}/${id}`;
}
