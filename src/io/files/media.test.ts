import { describe, expect, it } from "vitest";
import { detectMediaType, measureImage } from "./media.ts";

const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAACCAYAAACZgbYnAAAAEElEQVR4nGNk+M/QwAAEAAYFAYBpFrTsAAAAAElFTkSuQmCC",
  "base64",
);

describe("detectMediaType", () => {
  it.each([
    ["image/png", PIXEL],
    ["image/jpeg", Buffer.from("ffd8ffe000104a464946", "hex")],
    ["image/gif", Buffer.from("GIF89a....")],
    ["image/webp", Buffer.from("RIFF\x10\0\0\0WEBPVP8 ")],
    ["audio/wav", Buffer.from("RIFF\x10\0\0\0WAVEfmt ")],
    ["image/bmp", Buffer.from("424d46000000000000003600", "hex")],
    ["application/pdf", Buffer.from("%PDF-1.7\n")],
    ["application/zip", Buffer.from("PK\x03\x04\x14\0")],
    ["image/avif", Buffer.from("\0\0\0\x20ftypavif")],
    ["video/mp4", Buffer.from("\0\0\0\x20ftypisom")],
  ])("recognises %s by its first bytes", (type, bytes) => {
    expect(detectMediaType(bytes)).toBe(type);
  });

  it("returns null for text, even if it begins like a medium", () => {
    for (const text of ["", "B", "BMW is a car maker", "PKG=1", "GIF is a format", "RIFF raff"])
      expect(detectMediaType(Buffer.from(text))).toBeNull();
  });
});

describe("measureImage", () => {
  it("returns width and height, or null for a damaged image", async () => {
    expect(await measureImage(PIXEL)).toEqual({ width: 1, height: 2 });
    expect(await measureImage(PIXEL.subarray(0, 12))).toBeNull();
    expect(await measureImage(PIXEL.subarray(0, 20))).toBeNull();
    expect(await measureImage(Buffer.from(PIXEL).fill(0, 16, 20))).toBeNull();
    expect(await measureImage(Buffer.from("text"))).toBeNull();
  });
});
