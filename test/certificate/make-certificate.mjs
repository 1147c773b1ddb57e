// A certificate of one's own for servers in tests: X.509 in DER, by hand, since Node reads certificates but makes none.
import { generateKeyPairSync, sign } from "node:crypto";
import { isIPv6, isIP } from "node:net";

const ECDSA_SHA256 = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));

/** `names`: hosts and addresses. The certificate is its own authority: give it as `ca` to whoever is to trust it. */
export function makeCertificate(names) {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const name = sequence(tlv(0x31, sequence(oid(0x55, 0x04, 0x03), tlv(0x0c, "haft test"))));
  const content = sequence(
    tlv(0xa0, tlv(0x02, [2])),
    tlv(0x02, [1, ...crypto.getRandomValues(new Uint8Array(8))]),
    ECDSA_SHA256,
    name,
    sequence(tlv(0x17, "250101000000Z"), tlv(0x17, "491231235959Z")),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    tlv(0xa3, sequence(extension([0x55, 0x1d, 0x11], sequence(...names.map(alternative))), AUTHORITY())),
  );
  const certificate = sequence(content, ECDSA_SHA256, tlv(0x03, [0], sign("sha256", content, privateKey)));
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }),
    cert: `-----BEGIN CERTIFICATE-----\n${certificate
      .toString("base64")
      .match(/.{1,64}/g)
      .join("\n")}\n-----END CERTIFICATE-----\n`,
  };
}

const AUTHORITY = () => extension([0x55, 0x1d, 0x13], sequence(tlv(0x01, [0xff])));

function alternative(name) {
  return isIP(name) ? tlv(0x87, addressBytes(name)) : tlv(0x82, name);
}

function addressBytes(address) {
  if (!isIPv6(address)) return address.split(".").map(Number);
  const [head, tail] = address.split("::").map((half) => (half ? half.split(":") : []));
  const groups = tail ? [...head, ...Array(8 - head.length - tail.length).fill("0"), ...tail] : head;
  return groups.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff]);
}

function extension(id, value) {
  return sequence(oid(...id), tlv(0x04, value));
}

function oid(...bytes) {
  return tlv(0x06, bytes);
}

function sequence(...parts) {
  return tlv(0x30, ...parts);
}

function tlv(tag, ...parts) {
  const content = Buffer.concat(parts.map((part) => Buffer.from(part)));
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}
