import { type KeyObject, X509Certificate } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { caPin } from "../../../core/api/ca-pin.ts";
import type { AuthorityBundleSchema } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { HostIdentity, UserIdentity } from "../../../core/identity/identity.ts";
import type { SshCertificateFields } from "../../../core/identity/ssh-identity.ts";
import { type AuthorityKind, type AuthorityKindRow, authorityKinds } from "../../../core/kinds/authority-kinds.ts";
import type { Log } from "../../../core/log/log.ts";
import type { Rotation } from "../../../core/resources/rotation.ts";
import { sshFingerprint } from "../../../core/ssh/keys.ts";
import { signStatement, type UpgradeStatement } from "../../../core/versions/upgrade-statement.ts";
import type { Storage } from "../../storage/storage.ts";
import { allowedPhases, type RotationStep } from "../rotation/next-phase.ts";
import type { AuthorityKeys } from "./authority-keys.ts";
import { type CertificateRequest, type IssuedCertificates, issueDatabase, issueHost, issueSsh, issueUser } from "./issue-certificates.ts";
import { authorityPrefix, type KeyRing, openKeyRing, readKeyRing, stepWrites } from "./key-ring.ts";
import { signToken, type TokenClaims } from "./sign-token.ts";

/** The public half of an authority's key. */
export interface Authority {
  /** `ssh-ed25519 AAAA…`; empty without an SSH key. */
  readonly sshPublicLine: string;
  readonly pem: string;
  readonly certificate: X509Certificate;
  /** `sha256:<hex>` of the X.509 public key. */
  readonly pin: string;
}

/** The signing key, and all trusted ones, with the signing one first. */
export interface TrustedAuthority extends Authority {
  readonly kind: string;
  readonly trusted: readonly Authority[];
}

/** The cluster's authorities. Private keys stay inside; callers request signatures here. */
export interface Authorities {
  readonly user: TrustedAuthority;
  readonly host: TrustedAuthority;
  /** Of every kind, in the order of the table. */
  readonly all: readonly TrustedAuthority[];
  issueUser(identity: UserIdentity, request: CertificateRequest): Promise<IssuedCertificates>;
  /** Signs with the current key, or with the trusted one of this pin. */
  issueHost(identity: HostIdentity, request: CertificateRequest, pin?: string): Promise<IssuedCertificates>;
  /** An SSH certificate alone, with exactly these fields. */
  issueSsh(kind: AuthorityKind, fields: SshCertificateFields, request: Pick<CertificateRequest, "sshPublicKey" | "now">): string;
  /** Signed by an authority for databases. */
  issueDatabase(kind: "db" | "db_client", facts: Parameters<typeof issueDatabase>[1]): Promise<string>;
  /** A token with these claims, for applications. */
  signToken(claims: TokenClaims): Promise<string>;
  /** Public halves of this kind: all keys that are trusted now, the signing one first. */
  trusted(kind: AuthorityKind): readonly Authority[];
  /** Signed by the host authority. */
  signUpgrade(facts: Omit<UpgradeStatement, "issued" | "expires">, now: Date): string;
  rotation(kind: string): Rotation;
  /** Reads the stored state: another process may have taken a step. */
  refresh(): Promise<void>;
  /** Called after each change. */
  onChange(listener: () => void): void;
  /** Takes the step returned by `decide` for the stored state. Throws its errors, and `conflict`. */
  step(kind: string, decide: (rotation: Rotation) => RotationStep | undefined, now: Date): Promise<Rotation | undefined>;
}

interface Held {
  readonly row: AuthorityKindRow;
  readonly ring: KeyRing;
  readonly open: TrustedAuthority;
}

interface AuthoritiesFacts {
  readonly cluster: string;
  readonly now: Date;
  readonly table?: Readonly<Record<string, AuthorityKindRow>>;
}

/** Reads the authorities of the table from the storage; creates those that are missing. */
export async function openAuthorities(storage: Storage, { cluster, now: opened, table = authorityKinds }: AuthoritiesFacts): Promise<Authorities> {
  const all = new Map<string, Held>();
  for (const [kind, row] of Object.entries(table)) all.set(kind, hold(await openKeyRing(storage, { kind, row, cluster, now: opened }), row));
  const heldOf = (kind: string): Held => {
    const found = all.get(kind);
    if (found === undefined) throw new Error(`there is no authority ${kind}`);
    return found;
  };
  const listeners: (() => void)[] = [];
  const refresh = async (): Promise<void> => {
    if (await readAgain(storage, all)) for (const listener of listeners) listener();
  };
  return {
    get user() {
      return heldOf("user").open;
    },
    get host() {
      return heldOf("host").open;
    },
    get all() {
      return [...all.values()].map(({ open }) => open);
    },
    issueUser: (identity, request) => issueUser(heldOf("user").ring.signing, identity, request),
    issueHost: (identity, request, pin) => issueHost(keysOfPin(heldOf("host"), pin), identity, request),
    issueSsh: (kind, fields, request) => issueSsh(heldOf(kind).ring.signing, fields, request),
    issueDatabase: (kind, facts) => issueDatabase(heldOf(kind).ring.signing, facts),
    signToken: (claims) => signToken(heldOf("jwt").ring.signing, claims),
    trusted: (kind) => heldOf(kind).open.trusted,
    signUpgrade: (facts, now) => signStatement(facts, { key: sshKeyOf(heldOf("host")), now }),
    rotation: (kind) => shown(heldOf(kind)),
    refresh,
    onChange: (listener) => listeners.push(listener),
    step: async (kind, decide, now) => {
      await refresh();
      const { row } = heldOf(kind);
      const step = decide(shown(heldOf(kind)));
      if (step === undefined) return undefined;
      await storage.batch(await stepWrites(heldOf(kind).ring, step, { row, cluster, now }));
      await refresh();
      return shown(heldOf(kind));
    },
  };
}

function hold(ring: KeyRing, row: AuthorityKindRow): Held {
  return { row, ring, open: publicHalves(ring) };
}

/** Whether any of them has changed in the storage. */
async function readAgain(storage: Storage, all: Map<string, Held>): Promise<boolean> {
  let isChanged = false;
  for (const [kind, { ring, row }] of all) {
    const read = await readKeyRing(storage, kind, ring);
    if (read === undefined || read === ring) continue;
    all.set(kind, hold(read, row));
    isChanged = true;
  }
  return isChanged;
}

function sshKeyOf({ row, ring }: Held): KeyObject {
  const { ssh } = ring.signing;
  if (ssh === undefined) throw new Error(`the ${row.title} has no SSH key`);
  return ssh;
}

function keysOfPin({ ring, open }: Held, pin: string | undefined): AuthorityKeys {
  if (pin === undefined || pin === open.pin) return ring.signing;
  if (ring.other !== undefined && open.trusted[1]?.pin === pin) return ring.other;
  throw new PlatformError("not_found", "this authority is no longer trusted");
}

function publicHalves(ring: KeyRing): TrustedAuthority {
  const signing = publicHalf(ring.signing);
  return { kind: ring.kind, ...signing, trusted: ring.other === undefined ? [signing] : [signing, publicHalf(ring.other)] };
}

function publicHalf({ sshPublicLine, certificate }: AuthorityKeys): Authority {
  const pem = `${certificate.toString("pem")}\n`;
  return { sshPublicLine, pem, certificate: new X509Certificate(pem), pin: caPin(pem) };
}

function shown({ ring, open }: Held): Rotation {
  const keys = open.trusted.map(({ pin, sshPublicLine, certificate }) => ({
    ca_pin: pin,
    ...(sshPublicLine !== "" && { ssh_fingerprint: sshFingerprint(sshPublicLine) }),
    since: certificate.validFromDate.toISOString(),
  }));
  return { authority: ring.kind, ...ring.state, allowed: [...allowedPhases(ring.state.phase)], keys };
}

/** Delay after a failed watch, ms. */
const retryMs = 1_000;

/** Applies another process's changes to the authorities, until the signal. Never rejects. */
export async function followAuthorities(
  { storage, authorities, log }: { readonly storage: Storage; readonly authorities: Authorities; readonly log: Log },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const _ of storage.watch([authorityPrefix], signal)) await authorities.refresh();
    } catch (error) {
      if (!signal.aborted) log.error("could not watch the authorities", { error });
    }
    await sleep(retryMs, undefined, { signal, ref: false }).catch(() => {});
  }
}

/**
 * Public halves of all keys that are trusted, as peers store them. In each list the signing one comes first. `authorities` has every kind; peers of the
 * version before read the other four lists.
 */
export function trustedKeys({ user, host, all }: Pick<Authorities, "user" | "host" | "all">) {
  return {
    hostCaPem: pems(host),
    userCaPem: pems(user),
    hostCaSsh: sshLines(host),
    userCaSsh: sshLines(user),
    authorities: all.map((one) => ({ kind: one.kind, pem: pems(one), ssh: sshLines(one) }) satisfies MessageInitShape<typeof AuthorityBundleSchema>),
  };
}

function pems({ trusted }: TrustedAuthority): string[] {
  return trusted.map(({ pem }) => pem);
}

function sshLines({ trusted }: TrustedAuthority): string[] {
  return trusted.map(({ sshPublicLine }) => sshPublicLine).filter((line) => line !== "");
}
