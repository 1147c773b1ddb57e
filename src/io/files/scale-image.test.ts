import { createRequire } from "node:module";
import { expect, test } from "vitest";
import { measureImage } from "./media.ts";
import { scaleImage } from "./scale-image.ts";

const { PhotonImage } = createRequire(import.meta.url)(
  "@silvia-odwyer/photon-node",
) as typeof import("@silvia-odwyer/photon-node");

/** Left half red, right half blue; the top half is darker. */
function photo(width: number, height: number): Buffer {
  const pixels = new Uint8Array(width * height * 4);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const light = y < height / 2 ? 120 : 250;
      pixels.set(x < width / 2 ? [light, 0, 0, 255] : [0, 0, light, 255], (y * width + x) * 4);
    }
  }
  return Buffer.from(new PhotonImage(pixels, width, height).get_bytes_jpeg(95));
}

/** A JPEG with an EXIF block whose only entry is the orientation. */
function withOrientation(jpeg: Buffer, orientation: number): Buffer {
  const exif = Buffer.from("ffe1002245786966000049492a0008000000010012010300010000000000000000000000", "hex");
  exif.writeUInt16LE(orientation, 28);
  return Buffer.concat([jpeg.subarray(0, 2), exif, jpeg.subarray(2)]);
}

/** The colours of the four corners: top left, top right, bottom left, bottom right. */
function corners(bytes: Uint8Array): string[] {
  const image = PhotonImage.new_from_byteslice(bytes);
  const [width, height, pixels] = [image.get_width(), image.get_height(), image.get_raw_pixels()];
  return [0, width - 1, width * (height - 1), width * height - 1].map((index) => {
    const [red = 0, , blue = 0] = pixels.subarray(index * 4);
    const light = Math.max(red, blue) > 180 ? "light" : "dark";
    return `${light} ${red > blue ? "red" : "blue"}`;
  });
}

const LIMITS = { maxEdge: 32, maxBytes: 1_000_000, mimeType: "image/jpeg" };

test.each([
  [1, ["dark red", "dark blue", "light red", "light blue"]],
  [2, ["dark blue", "dark red", "light blue", "light red"]],
  [3, ["light blue", "light red", "dark blue", "dark red"]],
  [4, ["light red", "light blue", "dark red", "dark blue"]],
  [5, ["dark red", "light red", "dark blue", "light blue"]],
  [6, ["light red", "dark red", "light blue", "dark blue"]],
  [7, ["light blue", "dark blue", "light red", "dark red"]],
  [8, ["dark blue", "light blue", "dark red", "light red"]],
])("a photo with orientation %i is upright after it was scaled", async (orientation, expected) => {
  const bytes = withOrientation(photo(64, 32), orientation);
  const measured = (await measureImage(bytes))!;
  expect(measured).toMatchObject(orientation < 5 ? { width: 64, height: 32 } : { width: 32, height: 64 });
  const scaled = await scaleImage({ bytes, ...measured, ...LIMITS, signal: AbortSignal.timeout(30_000) });
  expect(scaled).toMatchObject(orientation < 5 ? { width: 32, height: 16 } : { width: 16, height: 32 });
  expect(corners(scaled.bytes)).toEqual(expected);
});

test("a pixel of the result is the mean of the area that it covers", async () => {
  const row = [0, 90, 180].flatMap((red) => [red, 0, 0, 255]);
  const bytes = new PhotonImage(new Uint8Array(row), 3, 1).get_bytes();
  const limits = { maxEdge: 2, maxBytes: 1_000_000, mimeType: "image/png" };
  const scaled = await scaleImage({ bytes, width: 3, height: 1, ...limits, signal: AbortSignal.timeout(30_000) });
  const pixels = PhotonImage.new_from_byteslice(scaled.bytes).get_raw_pixels();
  expect([...pixels]).toEqual([30, 0, 0, 255, 150, 0, 0, 255]);
});

test("one image is decoded at a time, sixteen wait, and one more is refused", async () => {
  const bytes = photo(64, 32);
  const stops = Array.from({ length: 17 }, () => new AbortController());
  const scale = (signal: AbortSignal) => scaleImage({ bytes, width: 64, height: 32, ...LIMITS, signal });
  const accepted = stops.map((stop) => scale(stop.signal));
  await expect(scale(AbortSignal.timeout(30_000))).rejects.toMatchObject({ code: "busy" });
  for (const stop of stops) stop.abort(new Error("stopped"));
  for (const result of await Promise.allSettled(accepted)) {
    expect(result).toMatchObject({ status: "rejected", reason: { message: "stopped" } });
  }
  expect(await scale(AbortSignal.timeout(30_000))).toMatchObject({ width: 32, height: 16 });
});
