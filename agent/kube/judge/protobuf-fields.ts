import { PlatformError } from "../../../core/errors/platform-error.ts";

/*
 * Protobuf as Kubernetes sends objects: `k8s\0`, then an envelope whose field 2 has the object's bytes. Objects are read by the numbers of their fields,
 * without their definitions.
 */

const magic = Buffer.from("k8s\0");
const raw = 2;

/** The bytes of the object in a body; undefined for a body in another format, and for two objects. Throws `invalid` for broken protobuf. Pure. */
export function objectIn(body: Buffer): Buffer | undefined {
  if (!body.subarray(0, magic.length).equals(magic)) return undefined;
  return onlyField(body.subarray(magic.length), raw);
}

/** The bytes of a field that appears once; undefined otherwise, since readers merge a second one into it. */
export function onlyField(message: Buffer | undefined, wanted: number): Buffer | undefined {
  if (message === undefined) return undefined;
  const found = fieldsOf(message, wanted);
  return found.length === 1 ? found[0] : undefined;
}

/** All fields of this number that have a length. Throws `invalid` for what is not protobuf. */
export function fieldsOf(message: Buffer, wanted: number): readonly Buffer[] {
  const found: Buffer[] = [];
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; shift < 10; shift += 1) {
      const byte = message[at];
      at += 1;
      if (byte === undefined) throw new PlatformError("invalid", "the protobuf of the request's body is cut off");
      value += (byte & 0x7f) * 2 ** (7 * shift);
      if (byte < 0x80) return value;
    }
    throw new PlatformError("invalid", "the protobuf of the request's body has a number that is too long");
  };
  while (at < message.length) {
    const key = varint();
    const [field, wire] = [Math.floor(key / 8), key % 8];
    if (wire === 0) varint();
    else if (wire === 1) at += 8;
    else if (wire === 5) at += 4;
    else if (wire === 2) {
      const length = varint();
      if (at + length > message.length) throw new PlatformError("invalid", "the protobuf of the request's body is cut off");
      if (field === wanted) found.push(message.subarray(at, at + length));
      at += length;
    } else throw new PlatformError("invalid", "the protobuf of the request's body cannot be read");
  }
  return found;
}
