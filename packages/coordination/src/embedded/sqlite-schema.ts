// What the file looks like. Format 1 had a snapshot in one row; that is one that is all in its first
// part.

/** "STLM": whose file this is. */
export const APPLICATION_ID = 0x53544c4d;
export const FORMAT = 2;

/** Of a new file, before anything else: what it does not need any more can be given back. */
export const NEW_FILE = 'PRAGMA auto_vacuum = INCREMENTAL';

export const PRAGMAS = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
`;

const SNAPSHOT = `
  CREATE TABLE IF NOT EXISTS snapshot (
    partition TEXT NOT NULL, sequence INTEGER NOT NULL, part INTEGER NOT NULL,
    is_last INTEGER NOT NULL, crc INTEGER NOT NULL, text TEXT NOT NULL,
    PRIMARY KEY (partition, sequence, part)
  ) STRICT;
`;

export const SCHEMA = `
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${FORMAT};
  CREATE TABLE IF NOT EXISTS log (
    sequence INTEGER PRIMARY KEY, crc INTEGER NOT NULL, record TEXT NOT NULL
  ) STRICT;
  ${SNAPSHOT}
  CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
`;

/** From the format that a file has to the one that `SCHEMA` makes of it. */
export const UPGRADES: Readonly<Record<number, string>> = {
  1: `
    ALTER TABLE snapshot RENAME TO whole;
    ${SNAPSHOT}
    INSERT INTO snapshot SELECT partition, sequence, 0, 1, crc, text FROM whole;
    DROP TABLE whole;
  `,
};
