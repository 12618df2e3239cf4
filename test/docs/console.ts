/** A command of a document, and the output below it, in which `…` stands for any text. */
export interface Example {
  command: string;
  output: string[];
}

/** The examples of all `console` blocks, in order. */
export function examplesOf(markdown: string): Example[] {
  const examples: Example[] = [];
  for (const [, block = ''] of markdown.matchAll(/^```console\n(.*?)^```$/gms)) {
    for (const line of block.split('\n').slice(0, -1)) {
      if (line.startsWith('$ ')) examples.push({ command: line.slice(2), output: [] });
      else examples.at(-1)?.output.push(line);
    }
  }
  return examples;
}

/** Matches this output and nothing else. */
export function patternOf(output: readonly string[]): RegExp {
  const lines = output.map((line) => line.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll('…', '.*'));
  return new RegExp(`^${lines.join('\n')}\n?$`, 's');
}

/** Divides the README: what needs a container engine, and the rest. */
export function divideReadme(readme: string): { onDevice: string; rest: string } {
  const parts = readme.split(/^(?=## )/m);
  const isOnDevice = (part: string): boolean => part.startsWith('## On a device\n');
  return {
    onDevice: parts.filter(isOnDevice).join(''),
    rest: parts.filter((part) => !isOnDevice(part)).join(''),
  };
}
