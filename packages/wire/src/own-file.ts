import { randomUUID } from 'node:crypto';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * A file for its owner alone (mode 0600). Written beside and put in place at once: a reader sees the
 * old text or the new one, never a part, and after a power cut it is one of the two.
 */
export async function writeOwnFile(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const fresh = `${path}.${randomUUID()}.tmp`;
  try {
    {
      await using file = await open(fresh, 'wx', 0o600);
      await file.writeFile(text);
      await file.chmod(0o600);
      await file.sync();
    }
    await rename(fresh, path);
  } catch (error) {
    await rm(fresh, { force: true });
    throw error;
  }
}
