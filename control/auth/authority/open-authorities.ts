import { X509Certificate } from "node:crypto";
import { caPin } from "../../../core/api/trust.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { HostIdentity, SshCertificateFields, UserIdentity } from "../../../core/identity/identity.ts";
import { type AuthorityKind, authorityKinds, type Rotation } from "../../../core/resources/rotation.ts";
import { sshFingerprint } from "../../../core/ssh/keys.ts";
import { signStatement, type UpgradeStatement } from "../../../core/versions/upgrade-statement.ts";
import type { Storage } from "../../storage/storage.ts";
import { allowedPhases, type RotationStep } from "../rotation/next-phase.ts";
import type { AuthorityKeys } from "./authority-keys.ts";
import { issueHost } from "./issue-host.ts";
import { issueSsh } from "./issue-ssh.ts";
import { type CertificateRequest, type IssuedCertificates, issueUser } from "./issue-user.ts";
import { type KeyRing, openKeyRing, readKeyRing, stepWrites } from "./key-ring.ts";

/** The public half of an authority's key. */
export interface Authority {
  /** `ssh-ed25519 AAAA…` */
  readonly sshPublicLine: string;
  readonly pem: string;
  readonly certificate: X509Certificate;
  /** `sha256:<hex>` of the X.509 public key. */
  readonly pin: string;
}

/** The signing key, and all trusted ones, with the signing one first. */
export interface TrustedAuthority extends Authority {
  readonly trusted: readonly Authority[];
}

/** The cluster's authorities. Private keys stay inside; callers request signatures here. */
export interface Authorities {
  readonly user: TrustedAuthority;
  readonly host: TrustedAuthority;
  issueUser(identity: UserIdentity, request: CertificateRequest): Promise<IssuedCertificates>;
  /** Signs with the current key, or with the trusted one of this pin. */
  issueHost(identity: HostIdentity, request: CertificateRequest, pin?: string): Promise<IssuedCertificates>;
  /** An SSH certificate alone, with exactly these fields. */
  issueSsh(kind: AuthorityKind, fields: SshCertificateFields, request: Pick<CertificateRequest, "sshPublicKey" | "now">): string;
  /** Signed by the host authority. */
  signUpgrade(facts: Omit<UpgradeStatement, "issued" | "expires">, now: Date): string;
  rotation(kind: AuthorityKind): Rotation;
  /** Reads the stored state: another process may have taken a step. */
  refresh(): Promise<void>;
  /** Called after each change. */
  onChange(listener: () => void): void;
  /** Takes the step returned by `decide` for the stored state. Throws its errors, and `conflict`. */
  step(kind: AuthorityKind, decide: (rotation: Rotation) => RotationStep | undefined, now: Date): Promise<Rotation | undefined>;
}

interface Held {
  readonly ring: KeyRing;
  readonly open: TrustedAuthority;
}

/** Reads both authorities from the storage; creates them at the first start. */
export async function openAuthorities(storage: Storage, facts: { cluster: string; now: Date }): Promise<Authorities> {
  const hold = (ring: KeyRing): Held => ({ ring, open: publicHalves(ring) });
  const held: Record<AuthorityKind, Held> = {
    user: hold(await openKeyRing(storage, { kind: "user", ...facts })),
    host: hold(await openKeyRing(storage, { kind: "host", ...facts })),
  };
  const listeners: (() => void)[] = [];
  const refresh = async (): Promise<void> => {
    let isNew = false;
    for (const kind of authorityKinds) {
      const { ring } = held[kind];
      const read = await readKeyRing(storage, kind, ring);
      if (read === undefined || read === ring) continue;
      held[kind] = hold(read);
      isNew = true;
    }
    if (isNew) for (const listener of listeners) listener();
  };
  return {
    get user() {
      return held.user.open;
    },
    get host() {
      return held.host.open;
    },
    issueUser: (identity, request) => issueUser(held.user.ring.signing, identity, request),
    issueHost: (identity, request, pin) => issueHost(keysOfPin(held.host, pin), identity, request),
    issueSsh: (kind, fields, request) => issueSsh(held[kind].ring.signing, fields, request),
    signUpgrade: (facts, now) => signStatement(facts, { key: held.host.ring.signing.ssh, now }),
    rotation: (kind) => shown(held[kind]),
    refresh,
    onChange: (listener) => listeners.push(listener),
    step: async (kind, decide, now) => {
      await refresh();
      const step = decide(shown(held[kind]));
      if (step === undefined) return undefined;
      await storage.batch(await stepWrites(held[kind].ring, step, { cluster: facts.cluster, now }));
      await refresh();
      return shown(held[kind]);
    },
  };
}

function keysOfPin({ ring, open }: Held, pin: string | undefined): AuthorityKeys {
  if (pin === undefined || pin === open.pin) return ring.signing;
  if (ring.other !== undefined && open.trusted[1]?.pin === pin) return ring.other;
  throw new PlatformError("not_found", "this authority is no longer trusted");
}

function publicHalves(ring: KeyRing): TrustedAuthority {
  const signing = publicHalf(ring.signing);
  return { ...signing, trusted: ring.other === undefined ? [signing] : [signing, publicHalf(ring.other)] };
}

function publicHalf({ sshPublicLine, certificate }: AuthorityKeys): Authority {
  const pem = `${certificate.toString("pem")}\n`;
  return { sshPublicLine, pem, certificate: new X509Certificate(pem), pin: caPin(pem) };
}

function shown({ ring, open }: Held): Rotation {
  const keys = open.trusted.map(({ pin, sshPublicLine, certificate }) => ({
    ca_pin: pin,
    ssh_fingerprint: sshFingerprint(sshPublicLine),
    since: certificate.validFromDate.toISOString(),
  }));
  return { authority: ring.kind, ...ring.state, allowed: [...allowedPhases(ring.state.phase)], keys };
}
