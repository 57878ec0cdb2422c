import type { AuthContext, Connection, PublicKeyAuthContext } from "ssh2";
import { string } from "../bytes/fields.ts";
import { PlatformError, toPlatformError } from "../errors/platform-error.ts";
import { certificateSuffix, plainAlgorithm } from "./algorithms.ts";
import { parseCertificate, type SshCertificate } from "./certificate.ts";
import { refusalBanner } from "./refusals.ts";
import { verifyBlob } from "./signature.ts";
import { sendPayload, transportOf } from "./ssh2/hooks.ts";

export interface AcceptedLogin {
  readonly username: string;
  readonly certificate: SshCertificate;
}
/** The data that the client signed to prove that it holds the certificate's key (RFC 4252 section 7), and its signature: both are verified. */
export interface LoginProof {
  readonly data: Buffer;
  readonly signature: Buffer;
}
export type Authenticate = (attempt: AcceptedLogin, proof: LoginProof) => void | Promise<void>;

export interface LoginAnswers {
  readonly authenticate: Authenticate;
  readonly onAccepted: (login: AcceptedLogin) => void;
  readonly onRefused: (error: PlatformError) => void;
}

/** OpenSSH's MaxAuthTries. */
const mostFailures = 6;
/** Limit that also counts queries whether a key would be accepted. */
const mostRequests = 64;
const bannerMessage = 53;

/** Answers a client's attempts to log in: only a certificate whose key has signed this very session is accepted. */
export function answerLogins(connection: Connection, answers: LoginAnswers): void {
  let failures = 0;
  let requests = 0;
  const stream = transportOf(connection);
  const refuse = (context: AuthContext, error?: PlatformError): void => {
    if (stream.destroyed) return;
    if (error !== undefined) answers.onRefused(error);
    context.reject(["publickey"]);
    // `none` asks for the methods.
    if (context.method !== "none") failures += 1;
    if (failures >= mostFailures) connection.end();
  };
  const decide = async (context: AuthContext): Promise<void> => {
    requests += 1;
    if (requests > mostRequests) {
      connection.end();
      return;
    }
    if (context.method !== "publickey") return refuse(context);
    let certificate: SshCertificate;
    try {
      certificate = readProof(context);
    } catch (thrown) {
      return refuse(context, toPlatformError(thrown));
    }
    const { signature, blob } = context;
    if (signature === undefined || blob === undefined) return context.accept();
    const login = { username: context.username, certificate };
    const error = await judge(answers.authenticate, login, { data: blob, signature });
    if (stream.destroyed) return;
    if (error !== undefined) {
      sendPayload(connection, Buffer.concat([Buffer.of(bannerMessage), string(refusalBanner(error)), string("")]));
      return refuse(context, error);
    }
    context.accept();
    // ssh2 keeps the context for as long as the connection.
    Object.assign(context, { key: undefined, signature: undefined, blob: undefined });
    // ssh2 refuses all attempts after a login. The listener would hold all of the above for as long as the connection lives.
    connection.off("authentication", onAttempt);
    answers.onAccepted(login);
  };
  const onAttempt = (context: AuthContext): void => {
    decide(context).catch((thrown: unknown) => {
      answers.onRefused(toPlatformError(thrown));
      stream.destroy();
    });
  };
  connection.on("authentication", onAttempt);
}

async function judge(authenticate: Authenticate, login: AcceptedLogin, proof: LoginProof): Promise<PlatformError | undefined> {
  try {
    await authenticate(login, proof);
    return undefined;
  } catch (thrown) {
    return toPlatformError(thrown);
  }
}

/** The certificate, whose signature over this session is verified when there is one. Throws PlatformError. */
function readProof(context: PublicKeyAuthContext): SshCertificate {
  const { algo, data } = context.key;
  if (!algo.endsWith(certificateSuffix)) throw new PlatformError("unauthenticated", "a certificate is required, not a plain key");
  const certificate = parseCertificate(Buffer.from(data));
  const algorithm = plainAlgorithm(algo);
  const fits = certificate.keyType === "ssh-rsa" ? algorithm.startsWith("rsa-sha2-") : algorithm === certificate.keyType;
  if (!fits) throw new PlatformError("unauthenticated", "the certificate's type differs from the type in the login");
  const { signature, blob } = context;
  if (signature === undefined) return certificate;
  if (blob === undefined || !verifyBlob({ key: certificate.key, data: blob, signature, algorithm })) {
    throw new PlatformError("unauthenticated", "the client does not hold the certificate's key");
  }
  return certificate;
}
