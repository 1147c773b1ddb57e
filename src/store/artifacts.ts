import type {
  Artifact,
  ArtifactKey,
  ArtifactQuery,
  ArtifactStore,
  ArtifactVersion,
  ArtifactVersionInfo,
} from "../tools/artifacts/artifact-store.ts";
import type { SqlDatabase, SqlRunner, SqlValue } from "./database.ts";
import type { StoreModule } from "./table.ts";

/** Kept outputs go after a week, as the files of a workspace do. */
const OUTPUT_RETENTION_MS = 7 * 24 * 60 * 60_000;

export const artifactsModule: StoreModule<ArtifactStore> = {
  migrations: {
    name: "artifacts",
    versions: [
      [
        `CREATE TABLE artifacts (
           session TEXT NOT NULL,
           id TEXT NOT NULL,
           title TEXT NOT NULL,
           content_type TEXT NOT NULL,
           origin TEXT NOT NULL,
           version BIGINT NOT NULL,
           created_at BIGINT NOT NULL,
           updated_at BIGINT NOT NULL,
           PRIMARY KEY (session, id)
         )`,
        "CREATE INDEX artifacts_by_change ON artifacts (updated_at)",
        `CREATE TABLE artifact_versions (
           session TEXT NOT NULL,
           id TEXT NOT NULL,
           version BIGINT NOT NULL,
           info TEXT NOT NULL,
           content TEXT NOT NULL,
           PRIMARY KEY (session, id, version)
         )`,
      ],
    ],
  },
  async open({ database, clock }) {
    const store = new SqlArtifacts(database);
    await store.pruneOutputs(clock.now() - OUTPUT_RETENTION_MS);
    return store;
  },
};

interface Row {
  session: string;
  id: string;
  title: string;
  content_type: string;
  origin: Artifact["origin"];
  version: number;
  created_at: number;
  updated_at: number;
}

/** Documents in a database that several processes share. */
class SqlArtifacts implements ArtifactStore {
  readonly #db: SqlDatabase;

  constructor(db: SqlDatabase) {
    this.#db = db;
  }

  async create(artifact: Artifact, first: ArtifactVersion): Promise<boolean> {
    return this.#db.transaction(async (tx) => {
      const { changes } = await tx.run(
        `INSERT INTO artifacts (session, id, title, content_type, origin, version, created_at, updated_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session, id) DO NOTHING`,
        [
          ...keyOf(artifact),
          JSON.stringify(artifact.title),
          JSON.stringify(artifact.contentType),
          artifact.origin,
          artifact.version,
          artifact.createdAt,
          artifact.updatedAt,
        ],
      );
      if (changes === 0) return false;
      await insertVersion(tx, artifact, first);
      return true;
    });
  }

  async find(key: ArtifactKey): Promise<Artifact | undefined> {
    const [row] = await this.#db.all<Row>("SELECT * FROM artifacts WHERE session = ? AND id = ?", keyOf(key));
    return row && toArtifact(row);
  }

  async read(key: ArtifactKey, version: number): Promise<ArtifactVersion | undefined> {
    const [row] = await this.#db.all<{ info: string; content: string }>(
      "SELECT info, content FROM artifact_versions WHERE session = ? AND id = ? AND version = ?",
      [...keyOf(key), version],
    );
    return row && { ...(JSON.parse(row.info) as ArtifactVersionInfo), content: JSON.parse(row.content) as string };
  }

  async versions(key: ArtifactKey): Promise<ArtifactVersionInfo[]> {
    const rows = await this.#db.all<{ info: string }>(
      "SELECT info FROM artifact_versions WHERE session = ? AND id = ? ORDER BY version DESC",
      keyOf(key),
    );
    return rows.map(({ info }) => JSON.parse(info) as ArtifactVersionInfo);
  }

  async append(key: ArtifactKey, version: ArtifactVersion): Promise<boolean> {
    return this.#db.transaction(async (tx) => {
      // Of two who add the same version, the second finds another one when its turn has come.
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
    const rows = await this.#db.all<Row>(
      `SELECT * FROM artifacts ${where} ORDER BY updated_at DESC, session, id LIMIT ? OFFSET ?`,
      [...values, limit, offset],
    );
    return rows.map(toArtifact);
  }

  async pruneOutputs(before: number): Promise<void> {
    await this.#db.transaction(async (tx) => {
      await tx.run(
        `DELETE FROM artifact_versions WHERE EXISTS (
           SELECT 1 FROM artifacts AS a WHERE a.session = artifact_versions.session AND a.id = artifact_versions.id
             AND a.origin = 'output' AND a.updated_at < ?)`,
        [before],
      );
      await tx.run("DELETE FROM artifacts WHERE origin = 'output' AND updated_at < ?", [before]);
    });
  }
}

async function insertVersion(tx: SqlRunner, key: ArtifactKey, { content, ...info }: ArtifactVersion): Promise<void> {
  await tx.run("INSERT INTO artifact_versions (session, id, version, info, content) VALUES (?, ?, ?, ?, ?)", [
    ...keyOf(key),
    info.version,
    JSON.stringify(info),
    JSON.stringify(content),
  ]);
}

/** Texts from outside may hold what TEXT cannot: as JSON every one has a spelling. */
function keyOf({ session, id }: ArtifactKey): SqlValue[] {
  return [JSON.stringify(session), JSON.stringify(id)];
}

function toArtifact(row: Row): Artifact {
  return {
    session: JSON.parse(row.session) as string,
    id: JSON.parse(row.id) as string,
    title: JSON.parse(row.title) as string,
    contentType: JSON.parse(row.content_type) as string,
    origin: row.origin,
    version: row.version,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
