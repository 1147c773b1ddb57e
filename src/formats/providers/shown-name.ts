/** What every provider takes as the name of a tool. */
const TOOL_NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;
const MAX_LENGTH = 64;

/**
 * A name for each of `names`, in their order, that `pattern` accepts and that no other has. A name that is fine already
 * stays; what is made of another depends on that name alone, so that it is the same at every step of a conversation.
 */
export function shownNames(names: readonly string[], pattern: RegExp = TOOL_NAME): string[] {
  const taken = new Set(names.filter((name) => pattern.test(name)));
  return names.map((name) => {
    if (pattern.test(name)) return name;
    const clean = name.replace(/[^A-Za-z0-9_]/g, "_").replace(/^(?=[^A-Za-z_])/, "_");
    let shown = clean;
    for (let round = 0; !pattern.test(shown) || taken.has(shown); round++) {
      const ending = `_${hash(`${name}${round === 0 ? "" : round}`)}`;
      shown = clean.slice(0, MAX_LENGTH - ending.length) + ending;
    }
    taken.add(shown);
    return shown;
  });
}

/** FNV-1a: short, and the same everywhere. */
function hash(text: string): string {
  let sum = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) sum = Math.imul(sum ^ text.charCodeAt(at), 0x01000193);
  return (sum >>> 0).toString(36);
}
