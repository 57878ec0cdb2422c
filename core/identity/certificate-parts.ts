import { PlatformError } from "../errors/platform-error.ts";

/*
 * The parts of a certificate that are read here (RFC 5280 section 4.1), in DER:
 *
 *   Certificate    ::= SEQUENCE { tbsCertificate, … }
 *   TBSCertificate ::= SEQUENCE { [0] version, serialNumber, signature, issuer, validity, subject, …, [3] { SEQUENCE OF Extension } }
 *   Name           ::= SEQUENCE OF SET OF SEQUENCE { type OBJECT IDENTIFIER, value DirectoryString }
 *   Extension      ::= SEQUENCE { extnID OBJECT IDENTIFIER, critical BOOLEAN DEFAULT FALSE, extnValue OCTET STRING }
 *
 * Node shows only extensions that it knows, and its form of a subject (toLegacyObject) breaks node:tls in a process that has not loaded it yet.
 */
const tags = { boolean: 0x01, octetString: 0x04, oid: 0x06, utf8: 0x0c, printable: 0x13, sequence: 0x30, set: 0x31, extensions: 0xa3 } as const;

/** Maximum number of parts and of extensions: a certificate has 10 parts, and ours at most 7 extensions. */
const maxParts = 64;
/** Maximum number of attributes of a subject: each role and login is one. */
const maxAttributes = 16_384;

/** Place of the subject among the parts of a certificate with a version. */
const subjectAt = 5;

/** Names of the attributes of our subjects, by the last byte of their OID (2.5.4.x). */
const attributes: ReadonlyMap<string, string> = new Map([
  ["550403", "CN"],
  ["550405", "serialNumber"],
  ["550407", "L"],
  ["550408", "ST"],
  ["550409", "street"],
  ["55040a", "O"],
  ["55040b", "OU"],
  ["55040d", "description"],
]);

/** One value as text, several as a list. Attributes that we do not write are there under their OID in hexadecimal. */
export type X509Subject = Readonly<Record<string, string | readonly string[] | undefined>>;

export interface CertificateParts {
  readonly subject: X509Subject;
  /** The extension with the requested OID; undefined when the certificate has none. */
  readonly extension: Buffer | undefined;
}

interface Element {
  readonly tag: number;
  readonly content: Buffer;
}

/**
 * Subject of a certificate, and the value of its extension with this OID (the content of its DER). Throws `unauthenticated` for what is not a
 * certificate, and for an extension that appears twice. Pure.
 */
export function certificateParts(certificate: Buffer, oid: Buffer): CertificateParts {
  const [whole, ...after] = elements(certificate);
  if (whole === undefined || after.length > 0) throw malformed("it is not one element");
  const [signed] = elements(contentOf(whole, tags.sequence));
  const parts = elements(contentOf(signed, tags.sequence));
  return { subject: attributesOf(contentOf(parts[subjectAt], tags.sequence)), extension: extensionOf(parts, oid) };
}

function attributesOf(name: Buffer): X509Subject {
  const pairs: (readonly [string, string])[] = [];
  for (const set of elements(name, maxAttributes)) {
    for (const pair of elements(contentOf(set, tags.set))) {
      const [type, value, ...after] = elements(contentOf(pair, tags.sequence));
      if (after.length > 0) throw malformed("an attribute of its subject has too many parts");
      const id = contentOf(type, tags.oid).toString("hex");
      pairs.push([attributes.get(id) ?? id, textOf(value)]);
    }
  }
  return collected(pairs);
}

/** Attributes in order, as a subject. */
export function collected(pairs: readonly (readonly [attribute: string, value: string])[]): X509Subject {
  const values = new Map<string, string[]>();
  for (const [attribute, value] of pairs) {
    const list = values.get(attribute) ?? [];
    list.push(value);
    values.set(attribute, list);
  }
  return Object.fromEntries([...values].map(([attribute, [first = "", ...more]]) => [attribute, more.length === 0 ? first : [first, ...more]]));
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function textOf(value: Element | undefined): string {
  if (value?.tag !== tags.utf8 && value?.tag !== tags.printable) throw malformed(`an attribute of its subject is of type ${value?.tag ?? "missing"}`);
  try {
    return utf8.decode(value.content);
  } catch {
    throw malformed("an attribute of its subject is not UTF-8");
  }
}

function extensionOf(parts: readonly Element[], oid: Buffer): Buffer | undefined {
  const lists = parts.filter(({ tag }) => tag === tags.extensions);
  if (lists.length > 1) throw malformed("it has two lists of extensions");
  const [list] = lists;
  if (list === undefined) return undefined;
  const [extensions, ...others] = elements(list.content);
  if (others.length > 0) throw malformed("its list of extensions has an end before the end");
  const found = elements(contentOf(extensions, tags.sequence))
    .map((one) => elements(contentOf(one, tags.sequence)))
    .filter(([id]) => contentOf(id, tags.oid).equals(oid));
  if (found.length > 1) throw malformed("an extension appears twice");
  const [extension] = found;
  return extension === undefined ? undefined : extensionContent(extension);
}

function extensionContent([, ...rest]: readonly Element[]): Buffer {
  const [value, ...after] = rest[0]?.tag === tags.boolean ? rest.slice(1) : rest;
  if (after.length > 0) throw malformed("an extension has too many parts");
  return contentOf(value, tags.octetString);
}

function contentOf(element: Element | undefined, tag: number): Buffer {
  if (element?.tag !== tag) throw malformed(`tag ${element?.tag ?? "missing"} instead of ${tag}`);
  return element.content;
}

/** The elements that fill these bytes. Views, not copies. */
function elements(bytes: Buffer, most: number = maxParts): readonly Element[] {
  const found: Element[] = [];
  for (let at = 0; at < bytes.length; ) {
    if (found.length === most) throw malformed(`more than ${most} elements`);
    const { element, next } = elementAt(bytes, at);
    found.push(element);
    at = next;
  }
  return found;
}

function elementAt(bytes: Buffer, at: number): { readonly element: Element; readonly next: number } {
  const [tag = 0, first] = bytes.subarray(at, at + 2);
  if (first === undefined || (tag & 0x1f) === 0x1f) throw malformed(`no element at byte ${at}`);
  // Up to 3 bytes of length: certificates are far shorter. DER has no open lengths (0x80).
  const width = first < 0x80 ? 0 : first - 0x80;
  if (first === 0x80 || width > 3 || at + 2 + width > bytes.length) throw malformed(`no length at byte ${at + 1}`);
  const start = at + 2 + width;
  const length = width === 0 ? first : bytes.readUIntBE(at + 2, width);
  if (length > bytes.length - start) throw malformed(`${length} bytes expected at byte ${start}, ${bytes.length - start} left`);
  return { element: { tag, content: bytes.subarray(start, start + length) }, next: start + length };
}

function malformed(why: string): PlatformError {
  return new PlatformError("unauthenticated", `the certificate is malformed: ${why}`);
}
