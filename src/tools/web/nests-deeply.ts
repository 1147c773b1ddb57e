const MAX_DEPTH = 1000;
/** Elements that end by themselves, or that old pages leave open. */
const NOT_COUNTED =
  /^(?:area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr|p|li|dt|dd|tr|td|th|tbody|thead|tfoot|option|colgroup|font)$/;

/** Whether markup is nested more deeply than a page is: converters walk trees by recursion, or take quadratic time. */
export function nestsDeeply(html: string): boolean {
  let depth = 0;
  for (const [, slash, name = ""] of html.matchAll(/<(\/?)([a-z][a-z0-9-]{0,30})(?=[\s/>])/gi)) {
    if (NOT_COUNTED.test(name.toLowerCase())) continue;
    depth = slash ? Math.max(0, depth - 1) : depth + 1;
    if (depth > MAX_DEPTH) return true;
  }
  return false;
}
