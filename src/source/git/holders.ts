import { readdir, readFile, readlink } from 'node:fs/promises';

/** Whether a living process works with a file; null where this machine cannot tell. */
export async function isHeld(path: string, folders: readonly string[]): Promise<boolean | null> {
  if (process.platform !== 'linux') return null;
  const processes = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  for (const id of processes) {
    if (Number(id) === process.pid) continue;
    if ((await hasOpen(id, path)) || (await isGitIn(id, folders))) return true;
  }
  return false;
}

async function hasOpen(id: string, path: string): Promise<boolean> {
  const open = await readdir(`/proc/${id}/fd`).catch(() => []);
  const targets = await Promise.all(open.map((fd) => readlink(`/proc/${id}/fd/${fd}`).catch(() => '')));
  return targets.includes(path);
}

/** Commands that only read, and that can stay for hours: with a pager, or to serve. They hold no lock unopened. */
const READERS = /^(log|show|diff|blame|grep|shortlog|reflog|help|cat-file|diff-tree|fsmonitor--daemon)$/;

/**
 * Whether a process is a git that writes in one of these folders, and no child of ours. It can hold a lock whose file
 * it has closed: `git commit -a` does while the editor is open. Where its folder may not be seen, it counts as one.
 */
async function isGitIn(id: string, folders: readonly string[]): Promise<boolean> {
  const status = await readFile(`/proc/${id}/status`, 'utf8').catch(() => '');
  if (!/^Name:\tgit/m.test(status) || /^State:\tZ/m.test(status)) return false;
  if (Number(/^PPid:\t(\d+)/m.exec(status)?.[1]) === process.pid) return false;
  const [, command = ''] = (await readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => '')).split('\0');
  if (READERS.test(command)) return false;
  const cwd = await readlink(`/proc/${id}/cwd`).catch((error: NodeJS.ErrnoException) =>
    error.code === 'EACCES' ? null : '',
  );
  return cwd === null || folders.some((folder) => cwd === folder || cwd.startsWith(`${folder}/`));
}
