// What schemas of tools, the configuration and records call the values of a call. One list of each.

/**
 * What an argument of a call decides. `destination`: where something goes, or who gets it. `target`: the existing thing that
 * is changed. `privilege`: a right or a credential. `code`: what is executed. `content`: free text. `amount`: how much.
 */
export type Authority = (typeof AUTHORITIES)[number];
export const AUTHORITIES = ["destination", "target", "privilege", "code", "content", "amount"] as const;

/** Also `other`: a text of no known kind. `none`: a number, a date, a switch. `link`, `private`: inside a text. `call`: the call itself. */
export const UNVOUCHED_KINDS = [...AUTHORITIES, "other", "none", "link", "private", "call"] as const;

/** Who made a field of a result: the service (`service`), the user (`own`), or somebody else (`others`). */
export type FieldTrust = (typeof FIELD_TRUSTS)[number];
export const FIELD_TRUSTS = ["service", "own", "others"] as const;

/** `off`: only the labels of tools count. `note`: results say what would have asked. `strict`: the user must have named each value. */
export type ProvenanceMode = (typeof PROVENANCE_MODES)[number];
export const PROVENANCE_MODES = ["off", "note", "ask", "strict"] as const;
