/**
 * One spelling for all that some file system takes for the same name: case, composition, compatibility forms
 * (ligatures, full-width, long s) and code points that are not seen.
 */
export function foldName(name: string): string {
  if (/^[\x20-\x7e]*$/.test(name)) return name.toLowerCase();
  const visible = name.normalize("NFKC").replace(/\p{Default_Ignorable_Code_Point}/gu, "");
  return visible.toUpperCase().toLowerCase().normalize("NFKC");
}
