import type {
  Artifact,
  ArtifactKey,
  ArtifactQuery,
  ArtifactStore,
  ArtifactVersion,
  ArtifactVersionInfo,
} from "../tools/artifacts/artifact-store.ts";
import type { SqlDatabase, SqlRunner, SqlValue } from "./database.ts";
import { integer, json, type StoreModule, table, text } from "./table.ts";

/** Stored outputs are deleted after a week, like the output files of a workspace. */
const OUTPUT_RETENTION_MS = 7 * 24 * 60 * 60_000;
const PRUNED_AT_ONCE = 50;

const artifacts = table(
  "artifacts",
  {
    session: json<string>(),
    id: json<string>(),
    title: json<string>(),
    contentType: json<string>(),
    origin: text<Artifact["origin"]>(),
    version: integer(),
    createdAt: integer(),
    updatedAt: integer(),
  },
  "PRIMARY KEY (session, id)",
);

const artifactVersions = table(
  "artifact_versions",
  {
    session: json<string>(),
    id: json<string>(),
    version: integer(),
    info: json<ArtifactVersionInfo>(),
    content: json<string>(),
  },
  "PRIMARY KEY (session, id, version)",
);

export const artifactsModule: StoreModule<ArtifactStore> = {
  migrations: {
    name: "artifacts",
    versions: [
      [artifacts.create, "CREATE INDEX artifacts_by_change ON artifacts (updated_at)", artifactVersions.create],
    ],
  },
  async open({ database, clock }) {
    const store = new SqlArtifacts(database);
    await store.pruneOutputs(clock.now() - OUTPUT_RETENTION_MS);
    return store;
  },
};

/** Documents in a database that several processes share. */
class SqlArtifacts implements ArtifactStore {
  readonly #db: SqlDatabase;

  constructor(db: SqlDatabase) {
    this.#db = db;
  }

  async create(artifact: Artifact, first: ArtifactVersion): Promise<boolean> {
    return this.#db.transaction(async (tx) => {
      const { changes } = await artifacts.insert(tx, artifact, "ON CONFLICT (session, id) DO NOTHING");
      if (changes === 0) return false;
      await insertVersion(tx, artifact, first);
      return true;
    });
  }

  async find(key: ArtifactKey): Promise<Artifact | undefined> {
    const [artifact] = await artifacts.select(this.#db, artifacts.keys, "WHERE session = ? AND id = ?", keyOf(key));
    return artifact;
  }

  async read(key: ArtifactKey, version: number): Promise<ArtifactVersion | undefined> {
    const [row] = await artifactVersions.select(
      this.#db,
      ["info", "content"],
      "WHERE session = ? AND id = ? AND version = ?",
      [...keyOf(key), version],
    );
    return row && { ...row.info, content: row.content };
  }

  async versions(key: ArtifactKey): Promise<ArtifactVersionInfo[]> {
    const newestFirst = "WHERE session = ? AND id = ? ORDER BY version DESC";
    const rows = await artifactVersions.select(this.#db, ["info"], newestFirst, keyOf(key));
    return rows.map(({ info }) => info);
  }

  async append(key: ArtifactKey, version: ArtifactVersion): Promise<boolean> {
    return this.#db.transaction(async (tx) => {
      // If two processes append the same version, the second finds another version here.
      const { changes } = await tx.run(
        "UPDATE artifacts SET version = ?, updated_at = ? WHERE session = ? AND id = ? AND version = ?",
        [version.version, version.at, ...keyOf(key), version.version - 1],
      );
      if (changes === 0) return false;
      await insertVersion(tx, key, version);
      return true;
    });
  }

  async list({ session, limit, offset = 0 }: ArtifactQuery): Promise<Artifact[]> {
    const [where, values] = session === undefined ? ["", []] : ["WHERE session = ?", [JSON.stringify(session)]];
    return artifacts.select(
      this.#db,
      artifacts.keys,
      `${where} ORDER BY updated_at DESC, session, id LIMIT ? OFFSET ?`,
      [...values, limit, offset],
    );
  }

  /** In slices: these are the largest rows of the store. */
  async pruneOutputs(before: number): Promise<void> {
    const old = `SELECT session, id FROM artifacts WHERE origin = 'output' AND updated_at < ? ORDER BY session, id LIMIT ${PRUNED_AT_ONCE}`;
    while ((await this.#db.all(old, [before])).length > 0) {
      await this.#db.reader.write([
        [`DELETE FROM artifact_versions WHERE (session, id) IN (${old})`, [before]],
        [`DELETE FROM artifacts WHERE (session, id) IN (${old})`, [before]],
      ]);
    }
  }
}

async function insertVersion(
  tx: SqlRunner,
  { session, id }: ArtifactKey,
  { content, ...info }: ArtifactVersion,
): Promise<void> {
  await artifactVersions.insert(tx, { session, id, version: info.version, info, content });
}

function keyOf({ session, id }: ArtifactKey): SqlValue[] {
  return [artifacts.toSql("session", session), artifacts.toSql("id", id)];
}
