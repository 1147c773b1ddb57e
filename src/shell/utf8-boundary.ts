/** How many bytes at the end belong to a character whose remaining bytes have not come yet (0 to 3). */
export function unfinishedSuffix(bytes: Uint8Array): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] as number;
    if ((byte & 0xc0) === 0x80) continue;
    return sequenceLength(byte) > back ? back : 0;
  }
  return 0;
}

/** How many bytes at the start continue a character that began before them (0 to 3). */
export function orphanedPrefix(bytes: Uint8Array): number {
  let length = 0;
  while (length < 3 && length < bytes.length && ((bytes[length] as number) & 0xc0) === 0x80) length++;
  return length;
}

function sequenceLength(lead: number): number {
  if (lead >= 0xf0 && lead <= 0xf4) return 4;
  if (lead >= 0xe0) return lead < 0xf0 ? 3 : 1;
  return lead >= 0xc2 ? 2 : 1;
}
