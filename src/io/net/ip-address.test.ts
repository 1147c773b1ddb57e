import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { classifyAddress, parseRange } from "./ip-address.ts";

describe("an address", () => {
  test.each([
    "8.8.8.8",
    "1.0.0.1",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2001:4860:4860::8888",
    "2a00::1",
  ])("%s is public", (address) => expect(classifyAddress(address).kind).toBe("public"));

  test.each([
    "10.0.0.0",
    "10.255.255.255",
    "100.64.0.0",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.255",
    "172.16.0.0",
    "172.31.255.255",
    "192.168.0.0",
    "192.168.255.255",
    "::1",
    "fc00::",
    "fdff::1",
  ])("%s is private", (address) => expect(classifyAddress(address).kind).toBe("private"));

  test.each([
    "0.0.0.0",
    "0.255.255.255",
    "169.254.169.254",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "198.18.0.0",
    "198.19.255.255",
    "198.51.100.7",
    "203.0.113.7",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.0",
    "255.255.255.255",
    "100.100.100.200",
    "168.63.129.16",
    "::",
    "::127.0.0.1",
    "::ffff:8.8.8.8",
    "::ffff:7f00:1",
    "64:ff9b::8.8.8.8",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:10::1",
    "2001:20::1",
    "2001:db8::1",
    "2002:808:808::1",
    "3fff::1",
    "5f00::1",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "fd00:ec2::254",
    "fd20:ce::254",
    "2606:4700::5efe:7f00:1",
    "2606:4700::200:5efe:a00:1",
    "4000::1",
    "1fff::1",
  ])("%s is special", (address) => expect(classifyAddress(address).kind).toBe("special"));

  test.each(["", "example.com", "127.1", "0x7f.0.0.1", "0177.0.0.1", "2130706433", "1.2.3.4.5", "[::1]"])(
    "%j is not a canonical address and never public",
    (text) => expect(classifyAddress(text).kind).toBe("special"),
  );

  test("of IPv6 is public only in 2000::/3", () => {
    const groups = fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 });
    fc.assert(
      fc.property(groups, (parts) => {
        const { kind } = classifyAddress(parts.map((part) => part.toString(16)).join(":"));
        return kind !== "public" || (parts[0]! >= 0x2000 && parts[0]! < 0x4000);
      }),
      { seed: 7, numRuns: 2000 },
    );
  });
});

describe("a range", () => {
  test("has the addresses between its ends, only of its own family", () => {
    const range = parseRange("198.18.0.0/15");
    expect(
      ["198.18.0.0", "198.19.255.255", "198.20.0.0", "198.17.255.255", "::1"].map((each) => range?.has(each)),
    ).toEqual([true, true, false, false, false]);
    expect(parseRange("10.0.0.5")?.has("10.0.0.5")).toBe(true);
    expect(parseRange("10.0.0.5")?.has("10.0.0.6")).toBe(false);
    expect(parseRange("[::1]")?.has("0:0:0:0:0:0:0:1")).toBe(true);
  });

  test("of NAT64 addresses excludes those whose IPv4 part is not public", () => {
    const range = parseRange("64:ff9b::/96");
    expect(range?.has("64:ff9b::808:808")).toBe(true);
    expect(range?.has("64:ff9b::a9fe:a9fe")).toBe(false);
  });

  test.each(["example.com", "10.0.0.0/33", "localhost:3000", "", "10.0.0"])("is not parsed from %j", (text) => {
    expect(parseRange(text)).toBeUndefined();
  });
});
