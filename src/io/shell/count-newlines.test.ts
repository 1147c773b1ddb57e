import fc from "fast-check";
import { expect, test } from "vitest";
import { countNewlines } from "./error-lines.ts";

test("counts newlines at any position and alignment", () => {
  const byte = fc.oneof(fc.constantFrom(10, 0x0b, 0x09, 0x8a, 0x00, 0x80, 0xff), fc.integer({ min: 0, max: 255 }));
  fc.assert(
    fc.property(fc.array(byte, { maxLength: 70 }), fc.integer({ min: 0, max: 9 }), (values, skip) => {
      const bytes = Uint8Array.from(values).subarray(skip);
      expect(countNewlines(bytes)).toBe(bytes.filter((value) => value === 10).length);
    }),
    { numRuns: 500 },
  );
});
