import { SETTING_NAMES, SETTINGS, type Setting } from '../src/settings.ts';

/** A table of a document that is generated from the code. */
export interface DocumentTable {
  file: string;
  /** The name in the two comments that enclose the table. */
  mark: string;
  table: string;
}

interface Layer {
  may: string[];
  pure?: string[];
  promise: string;
}

/** Resolves to all generated tables, as their documents must contain them. */
export async function renderedTables(): Promise<DocumentTable[]> {
  const { layers } = (await import(new URL('../layers.config.mjs', import.meta.url).href)) as {
    layers: Record<string, Layer>;
  };
  return [
    { file: 'README.md', mark: 'settings', table: settingsTable() },
    { file: 'docs/architecture.md', mark: 'layers', table: layersTable(layers) },
  ];
}

function settingsTable(): string {
  const rows = SETTING_NAMES.map((name) => {
    const { fallback, meaning }: Setting<unknown> = SETTINGS[name];
    return `| \`${name}\` | ${shownDefault(fallback)} | ${meaning} |`;
  });
  return ['| Setting | Default | Meaning |', '|---|---|---|', ...rows, ''].join('\n');
}

function shownDefault(fallback: unknown): string {
  if (fallback === null) return 'unset';
  return `\`${Array.isArray(fallback) ? fallback.join(',') : String(fallback)}\``;
}

function layersTable(layers: Record<string, Layer>): string {
  const rows = Object.entries(layers).map(([name, { may, pure, promise }]) => {
    const imports = may.includes('*') ? 'everything' : may.join(', ') || 'nothing of ours';
    const purity = pure === undefined ? '' : `yes; ${pure.join(', ') || 'no packages'}`;
    return `| \`${name}\` | ${promise} | ${imports} | ${purity} |`;
  });
  return ['| Layer | What it promises | May import | Pure |', '|---|---|---|---|', ...rows, ''].join('\n');
}
