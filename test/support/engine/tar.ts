/** A file, folder or link of an archive. */
export interface Entry {
  path: string;
  /** Octal permissions. */
  mode?: number;
  content?: Uint8Array;
  /** Makes it a symbolic link. */
  target?: string;
}

const BLOCK = 512;

/** Returns a tar archive; a path that ends with a slash is a folder. All belong to root, and to the year 1970. */
export function tar(entries: readonly Entry[]): Buffer {
  const blocks = entries.flatMap((entry) => {
    const content = entry.content ?? new Uint8Array();
    const padding = Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK);
    return [header(entry, content.length), content, padding];
  });
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]);
}

function header({ path, mode, target }: Entry, size: number): Buffer {
  const block = Buffer.alloc(BLOCK);
  const isFolder = path.endsWith('/');
  const kind = target === undefined ? (isFolder ? '5' : '0') : '2';
  block.write(path, 0, 100);
  block.write(octal(mode ?? (isFolder ? 0o755 : 0o644), 7), 100);
  for (const offset of [108, 116]) block.write(octal(0, 7), offset);
  block.write(octal(size, 11), 124);
  block.write(octal(0, 11), 136);
  block.write(' '.repeat(8), 148);
  block.write(kind, 156);
  block.write(target ?? '', 157, 100);
  block.write('ustar\u000000', 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${octal(sum, 6)}\0 `, 148);
  return block;
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0');
}
