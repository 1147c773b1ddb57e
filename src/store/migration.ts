/**
 * The history of one owner's tables. Written in the common subset: TEXT, BIGINT (also what INTEGER becomes on PostgreSQL,
 * whose own ends at 2^31; as the primary key of a SQLite table it is the row's own number and needs no further index), DOUBLE
 * PRECISION, BLOB (becomes BYTEA), no autoincrement, no booleans; statements in order, one string each.
 */
export interface Migrations {
  /** The owner: "audit", "approvals". Its tables begin with this name. */
  readonly name: string;
  /** The first takes the tables from nothing to version 1, and so on. Released ones are never edited: a checksum is kept. */
  readonly versions: readonly (readonly string[])[];
}
