import { describe, expect, test } from "vitest";
import { ENGINES, useEngine } from "./engines.fixture.ts";
import { migrate, type Migrations } from "./migrations.ts";

const first = ["CREATE TABLE a (x BIGINT, b BLOB)", "INSERT INTO a (x) VALUES (1)"];
const second = ["ALTER TABLE a ADD COLUMN y TEXT"];
const known = (...versions: string[][]): Migrations[] => [{ name: "a", versions }];

describe.each(ENGINES)("migrations on $name", (engine) => {
  const { createDatabase: newLocation } = useEngine(engine);

  test("are done once, and later ones on top", async () => {
    const database = await (await newLocation())();
    await migrate(database, known(first), 5);
    await migrate(database, known(first), 6);
    expect(await database.all("SELECT x FROM a")).toEqual([{ x: 1 }]);
    await migrate(database, known(first, second), 7);
    expect(await database.all("SELECT x, y, b FROM a")).toEqual([{ x: 1, y: null, b: null }]);
    expect(await database.all("SELECT owner, version, applied_at FROM haft_migrations ORDER BY version")).toEqual([
      { owner: "a", version: 1, applied_at: 5 },
      { owner: "a", version: 2, applied_at: 7 },
    ]);
    await database.close();
  });

  test("are done by one of several who start at once", async () => {
    const open = await newLocation();
    const databases = await Promise.all([1, 2, 3, 4].map(open));
    await Promise.all(databases.map((database) => migrate(database, known(first, second), 1)));
    for (const database of databases) expect(await database.all("SELECT x FROM a")).toEqual([{ x: 1 }]);
    for (const database of databases) await database.close();
  });

  test("are never left half done", async () => {
    const database = await (await newLocation())();
    await migrate(database, known(first), 1);
    const broken = known(first, [...second, "CREATE TABLE a (x BIGINT)"]);
    await expect(migrate(database, broken, 2)).rejects.toThrow(/exists/);
    expect(await database.all("SELECT * FROM a")).toEqual([{ x: 1, b: null }]);
    await migrate(database, known(first, second), 3);
    await database.close();
  });

  test("refuse a newer store, and one that an edited migration made", async () => {
    const database = await (await newLocation())();
    await migrate(database, known(first, second), 1);
    await expect(migrate(database, known(first), 2)).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringMatching(/newer version.*version 2.*knows 1/),
    });
    await expect(migrate(database, known([...first, "SELECT 1"], second), 2)).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringContaining("different version 1"),
    });
    await database.close();
  });

  test("are not done again under the name of another owner: one bit of the record was flipped", async () => {
    const database = await (await newLocation())();
    await migrate(database, known(first, second), 1);
    await database.run("UPDATE haft_migrations SET owner = 'c' WHERE version = 2");
    await expect(migrate(database, known(first, second), 2)).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringMatching(/is damaged: a migration of its a tables is recorded as one of "c"/),
    });
    await database.close();
  });
});
