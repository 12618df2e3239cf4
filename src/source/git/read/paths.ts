/** The names that `log --name-only -z` gives, as paths below the folder `prefix`; those beside it are left out. */
export function pathsBelow(prefix: string, names: string): Set<string> {
  const paths = new Set<string>();
  for (const name of names.split('\0')) {
    const path = name.replace(/^\n+/, '');
    if (prefix === '') paths.add(path);
    else if (path.startsWith(`${prefix}/`)) paths.add(path.slice(prefix.length + 1));
  }
  paths.delete('');
  return paths;
}
